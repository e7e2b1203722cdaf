"""Arguments, environment and configuration of OpenCode's server.

Sessions for which all of it is equal share one server.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from everyagent.agents.adapter import Launch
from everyagent.agents.opencode import program
from everyagent.agents.opencode.policy.policies import CUSTOM_SERVER
from everyagent.errors import AgentFailed
from everyagent.model.tools import McpLocal, McpServer
from everyagent.runtime.environment import scrubbed

#: A custom tool is carried out by the client, perhaps by a human: OpenCode shall not give up on it.
TOOL_LIMIT_MS = 7 * 24 * 3600 * 1000
CONTENT_VARIABLE = "OPENCODE_CONFIG_CONTENT"
PLUGIN = Path(__file__).with_name("plugin.js")
_FOLDERS = ("CONFIG", "DATA", "STATE", "CACHE")
_PREFIXES = (
    "OPENCODE_",
    "ANTHROPIC_",
    "OPENAI_",
    "AZURE_",
    "AWS_",
    "GOOGLE_",
    *(f"XDG_{what}_HOME" for what in _FOLDERS),
)
_NAMES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy"})
#: No list of models, no language server and no newer version is fetched unasked.
_QUIET = {
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
}


def argv(binary: str) -> tuple[str, ...]:
    return (binary, "serve", "--hostname", "127.0.0.1")


def environment(
    launch: Launch | None, source: Mapping[str, str], ripgrep: Path | None, hooks: Mapping[str, str] | None = None
) -> dict[str, str]:
    """`source` is the daemon's own environment: of it, what names an account or a way to a model passes.

    `hooks` are the variables by which the plugin finds the daemon.
    """
    allowed = [name for name in source if name in _NAMES or name.startswith(_PREFIXES) or name in program.KEYS]
    ours = {**_QUIET, **scrubbed(source, allow=allowed, session=launch.env if launch else {})}
    if ripgrep:
        ours["PATH"] = f"{ours.get('PATH', '')}:{ripgrep.parent}"
    ours[CONTENT_VARIABLE] = _content(ours.get(CONTENT_VARIABLE), launch)
    return {**ours, **(hooks or {})}


def _content(given: str | None, launch: Launch | None) -> str:
    """The configuration that was given this way, and what is the session's own."""
    try:
        config = msgspec.json.decode(given, type=dict[str, object]) if given else {}
        mcp = msgspec.convert(config.get("mcp") or {}, dict[str, object])
        plugins = msgspec.convert(config.get("plugin") or [], list[object])
    except msgspec.MsgspecError as error:
        raise AgentFailed(f"{CONTENT_VARIABLE} is not the JSON that OpenCode wants: {error}.") from error
    config["autoupdate"] = False
    if launch and launch.shell:
        config["shell"] = str(launch.shell.bash)  # this way, no project's own configuration names another
    config["plugin"] = [*plugins, PLUGIN.as_uri()]
    config["mcp"] = {**mcp, **(mcp_servers(launch) if launch else {})}
    return msgspec.json.encode(config).decode()


def mcp_servers(launch: Launch) -> dict[str, dict[str, object]]:
    servers = {name: _server(name, server) for name, server in launch.mcp.items()}
    if launch.tools_url:
        headers = {"Authorization": f"Bearer {launch.tools_token}"} if launch.tools_token else {}
        servers[CUSTOM_SERVER] = {
            "type": "remote",
            "url": launch.tools_url,
            "headers": headers,
            "oauth": False,
            "timeout": TOOL_LIMIT_MS,
            "enabled": True,
        }
    return servers


def _server(name: str, server: McpServer) -> dict[str, object]:
    limit: dict[str, object] = {"timeout": server.timeout_ms} if server.timeout_ms else {}
    if isinstance(server, McpLocal):
        where: dict[str, object] = {"cwd": server.cwd} if server.cwd else {}
        command = {"type": "local", "command": server.command, "environment": server.env, "enabled": server.enabled}
        return {**command, **where, **limit}
    return {"type": "remote", "url": server.url, "headers": server.headers, "enabled": server.enabled, **limit}


def prefixes(launch: Launch) -> dict[str, str]:
    """The prefixes of tool names that belong to the session's MCP servers, with the servers."""
    names = [*launch.mcp, *([CUSTOM_SERVER] if launch.tools_url else ())]
    return {f"{_sanitized(name)}_": name for name in names}


def _sanitized(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name)
