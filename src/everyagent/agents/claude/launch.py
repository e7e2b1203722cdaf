"""Arguments, environment and MCP configuration of a Claude Code process."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from everyagent.agents.adapter import Launch
from everyagent.agents.claude import modes, policies
from everyagent.model.tools import McpLocal, McpServer
from everyagent.runtime.environment import scrubbed

_PROTOCOL = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--include-partial-messages", "--include-hook-events", "--permission-prompt-tool", "stdio"),
)
#: The time that a client has to run a custom tool: without a limit of its own, Claude Code gives up after a minute.
TOOL_LIMIT_MS = 7 * 24 * 3600 * 1000
#: Prefixes of the variables that each cloud needs.
_CLOUDS = {"CLAUDE_CODE_USE_BEDROCK": ("AWS_",), "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "VERTEX_", "CLOUD_ML_")}
_NAMES = frozenset(
    {
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
        "CLAUDE_CODE_SKIP_VERTEX_AUTH",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_TMPDIR",
        "CLAUDE_CONFIG_DIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "IS_SANDBOX",
    }
)


def argv(binary: str, launch: Launch, mcp_config: Path | None) -> list[str]:
    """The command line. It holds no secrets, because every process on the machine can read it."""
    mode = modes.native(launch.permission_mode, launch.agent_mode)
    words = [binary, *_PROTOCOL, "--permission-mode", mode]
    if mode == modes.BYPASS:
        words.append("--dangerously-skip-permissions")
    if launch.native_session_id:
        words += ["--resume", launch.native_session_id]
    if launch.model and launch.model != "default":
        words += ["--model", launch.model]
    if launch.variant:
        words += ["--effort", launch.variant]
    if mcp_config:
        words += ["--mcp-config", str(mcp_config)]
    if launch.tools_url:
        words += ["--allowedTools", f"mcp__{policies.CUSTOM_SERVER}"]
    if settings := _settings(launch):
        words += ["--settings", msgspec.json.encode(settings).decode()]
    if not launch.policies.own_tools:
        words += ["--tools", ""]
    return words


def environment(launch: Launch, source: Mapping[str, str]) -> dict[str, str]:
    """Variables of the daemon's environment `source` that name an account or an API, and those of the session."""
    given = {**source, **launch.env}
    clouds = [prefix for cloud, prefixes in _CLOUDS.items() if given.get(cloud) for prefix in prefixes]
    allowed = [name for name in source if name in _NAMES or name.startswith(("ANTHROPIC_", *clouds))]
    own = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    if launch.mcp or launch.tools_url:
        own["MCP_CONNECTION_NONBLOCKING"] = "0"  # else the first turn may begin before the servers' tools are listed
    if modes.native(launch.permission_mode, launch.agent_mode) == modes.BYPASS and os.geteuid() == 0:
        own["IS_SANDBOX"] = "1"
    return scrubbed(source, allow=allowed, session=own | launch.env)


def _settings(launch: Launch) -> dict[str, object]:
    """Settings on the command line, which override the settings files of the project and the user."""
    settings = policies.flags(launch.policies) if policies.needs_hook(launch.policies) else {}
    if launch.shell:
        shell = str(launch.shell.bash)
        settings["env"] = {"CLAUDE_CODE_SHELL": shell, "SHELL": shell, "CLAUDE_CODE_SHELL_PREFIX": ""}
    return settings


def write_mcp_config(launch: Launch) -> Path | None:
    """Write the session's MCP servers to a file that only this user can read, because it may hold secrets."""
    servers = {name: _server(server) for name, server in launch.mcp.items() if server.enabled}
    if launch.tools_url:
        headers = {"Authorization": f"Bearer {launch.tools_token}"} if launch.tools_token else {}
        servers[policies.CUSTOM_SERVER] = {
            "type": "http",
            "url": launch.tools_url,
            "headers": headers,
            "timeout": TOOL_LIMIT_MS,
        }
    if not servers:
        return None
    launch.scratch.mkdir(parents=True, exist_ok=True)
    path = launch.scratch / "mcp.json"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode({"mcpServers": servers}))
    return path


def _server(server: McpServer) -> dict[str, object]:
    if isinstance(server, McpLocal):
        command, *arguments = server.command
        config: dict[str, object] = {"type": "stdio", "command": command, "args": arguments, "env": server.env}
        if server.cwd:
            config["cwd"] = server.cwd
    else:
        config = {"type": server.transport, "url": server.url, "headers": server.headers}
    return config | ({"timeout": server.timeout_ms} if server.timeout_ms else {})
