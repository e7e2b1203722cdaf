"""Command line, environment and MCP servers of an ACP agent."""

from collections.abc import Mapping, Sequence

from everyagent.agents import packages
from everyagent.agents.acp.policies import CUSTOM_SERVER
from everyagent.agents.acp.profile import Profile
from everyagent.agents.acp.wire import McpCapabilities
from everyagent.agents.adapter import Launch, bash_variables
from everyagent.errors import AgentFailed
from everyagent.model.tools import McpLocal, McpServer
from everyagent.runtime.environment import scrubbed

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
#: Starts a command in a folder: the protocol has no field for it.
_IN_FOLDER = 'cd "$0" && exec "$@"'


def argv(profile: Profile, path: str, launch: Launch) -> list[str]:
    """The command line. Blocking: it may have to look for Node. It holds no secrets."""
    if profile.own_command:
        return [path, *profile.own_command[1:]]
    least = profile.npm.node if profile.npm else 20
    start = [packages.node(least), path] if packages.is_script(path) else [path]
    chosen = [profile.model_argument, launch.model] if profile.model_argument and launch.model else []
    return [*start, *profile.arguments, *chosen]


def environment(profile: Profile, launch: Launch, source: Mapping[str, str]) -> dict[str, str]:
    """Variables of the daemon's environment `source` that name an account or an API, and those of the session."""
    passed = {*profile.passed, *profile.keys, *_PROXIES}
    allowed = [name for name in source if name in passed or (profile.prefixes and name.startswith(profile.prefixes))]
    own = {"NO_COLOR": "1", **profile.variables}
    chosen = {profile.model_variable: launch.model} if profile.model_variable and launch.model else {}
    return scrubbed(source, allow=allowed, session={**own, **launch.env, **chosen, **bash_variables(launch.shell)})


def servers(profile: Profile, launch: Launch, offered: McpCapabilities) -> Sequence[dict[str, object]]:
    """The session's MCP servers, as `session/new` takes them. Raises for one that the agent would ignore."""
    given = {name: server for name, server in launch.mcp.items() if server.enabled}
    if (given or launch.tools_url) and not profile.mcp:
        raise AgentFailed(f"{profile.title} takes no MCP servers. Leave `mcp` and `tools` out.")
    listed = [_server(profile, name, server, offered) for name, server in given.items()]
    if launch.tools_url:
        if not offered.http:
            raise AgentFailed(f"{profile.title} does not connect to MCP servers over HTTP. Leave `tools` out.")
        headers = {"Authorization": f"Bearer {launch.tools_token}"} if launch.tools_token else {}
        listed.append(_remote(CUSTOM_SERVER, "http", launch.tools_url, headers))
    return listed


def server_names(launch: Launch) -> list[str]:
    return [*launch.mcp, *([CUSTOM_SERVER] if launch.tools_url else [])]


def _server(profile: Profile, name: str, server: McpServer, offered: McpCapabilities) -> dict[str, object]:
    if isinstance(server, McpLocal):
        if not profile.local_mcp:
            raise AgentFailed(
                f"{profile.title} ignores MCP servers that it would have to start. Run {name!r} as an HTTP server and "
                "give its `url`."
            )
        command, *arguments = ["sh", "-c", _IN_FOLDER, server.cwd, *server.command] if server.cwd else server.command
        return {"name": name, "command": command, "args": arguments, "env": _pairs(server.env)}
    if not (offered.sse if server.transport == "sse" else offered.http):
        raise AgentFailed(f"{profile.title} does not connect to MCP servers over {server.transport}: {name!r}.")
    return _remote(name, server.transport, server.url, server.headers)


def _remote(name: str, transport: str, url: str, headers: Mapping[str, str]) -> dict[str, object]:
    return {"type": transport, "name": name, "url": url, "headers": _pairs(headers)}


def _pairs(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]
