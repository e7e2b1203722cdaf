"""Commands into the parameters of native requests. Pure: what has to be read from disk was read before."""

from collections.abc import Collection, Mapping

from everyagent.agents.adapter import Launch
from everyagent.agents.codex.policy import modes
from everyagent.agents.codex.policy.choices import TurnChoice
from everyagent.agents.codex.policy.policies import CUSTOM_SERVER
from everyagent.agents.codex.protocol.wire_responses import ThreadOpened
from everyagent.errors import AgentFailed
from everyagent.model.tools import McpLocal, McpServer

#: A custom tool is carried out by the client, perhaps by a human: Codex shall not give up on it.
TOOL_LIMIT_SECONDS = 7 * 24 * 3600


def initialize(version: str) -> dict[str, object]:
    return {
        "clientInfo": {"name": "everyagent", "title": "everyagent", "version": version},
        "capabilities": {
            "experimentalApi": True,
            "requestAttestation": False,
            "optOutNotificationMethods": ["rawResponse/completed"],
        },
    }


def open_thread(launch: Launch, config: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The method and its parameters: a new thread, or the session's own, with what its configuration adds."""
    native = modes.native(launch.permission_mode, launch.agent_mode)
    params: dict[str, object] = {"cwd": str(launch.directory), "approvalPolicy": native.approval}
    if native.sandbox and not modes.profiled(native, launch.hosts):
        params["sandbox"] = native.sandbox
    if launch.model:
        params["model"] = launch.model
    if launch.system_prompt:
        params["developerInstructions"] = launch.system_prompt
    if config:
        params["config"] = dict(config)
    if launch.native_session_id:
        return "thread/resume", {**params, "threadId": launch.native_session_id, "excludeTurns": True}
    return "thread/start", {**params, "experimentalRawEvents": True}


def shell(env: Mapping[str, str]) -> dict[str, object]:
    """No login shell if the session sets `PATH`, because `/etc/profile` resets it."""
    return {"allow_login_shell": False} if "PATH" in env else {}


def start_turn(
    launch: Launch,
    opened: ThreadOpened,
    choice: TurnChoice,
    standing: TurnChoice,
    input: list[dict[str, object]],
    item_id: str,
) -> dict[str, object]:
    """All choices go along: what was changed since the last turn holds from this one on.

    Only with its mode can Codex be given an effort of none, which is the model's own.
    """
    native = modes.native(launch.permission_mode, launch.agent_mode)
    params: dict[str, object] = {
        "threadId": opened.thread.id,
        "input": input,
        "clientUserMessageId": item_id,
        "approvalPolicy": native.approval,
    }
    if not modes.profiled(native, launch.hosts):
        params["sandboxPolicy"] = modes.policy(native.sandbox) if native.sandbox else opened.sandbox
    if choice.model:
        params["model"] = choice.model
    if choice.effort:
        params["effort"] = choice.effort
    if choice.plan or standing.plan or (standing.effort and not choice.effort):
        settings = {"model": choice.model, "reasoning_effort": choice.effort, "developer_instructions": None}
        params["collaborationMode"] = {"mode": "plan" if choice.plan else "default", "settings": settings}
    return params


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def developer(words: str) -> dict[str, object]:
    """An item of the Responses API: a message from the developer."""
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": words}]}


def mcp_servers(launch: Launch, marks: Mapping[str, str], own: Collection[str]) -> dict[str, dict[str, object]]:
    """Each that is a process carries our `marks`: it gets none of Codex's environment. `own` are the user's."""
    servers: dict[str, dict[str, object]] = {name: {"env": dict(marks)} for name in own}
    servers |= {name: _server(name, server, marks) for name, server in launch.mcp.items() if server.enabled}
    if launch.tools_url:
        headers = {"Authorization": f"Bearer {launch.tools_token}"} if launch.tools_token else {}
        servers[CUSTOM_SERVER] = {
            "url": launch.tools_url,
            "http_headers": headers,
            "tool_timeout_sec": TOOL_LIMIT_SECONDS,
        }
    return servers


def _server(name: str, server: McpServer, marks: Mapping[str, str]) -> dict[str, object]:
    config: dict[str, object]
    if isinstance(server, McpLocal):
        command, *arguments = server.command
        config = {"command": command, "args": arguments, "env": {**server.env, **marks}}
        if server.cwd:
            config["cwd"] = server.cwd
    elif server.transport == "sse":
        raise AgentFailed(f"Codex cannot reach the MCP server {name!r} over SSE. Offer it over streamable HTTP.")
    else:
        config = {"url": server.url, "http_headers": server.headers}
    return config | ({"tool_timeout_sec": server.timeout_ms / 1000} if server.timeout_ms else {})
