"""Calls about the daemon itself and the agents it knows."""

from everyagent.client.call import Call, Reply, decoded, get, nothing, path, post
from everyagent.client.shapes import AgentInfo, AgentList, AgentTools, Health, Models, Modes, OpenApi

_health = decoded(Health)
_agents = decoded(AgentList)
_models = decoded(Models)
_modes = decoded(Modes)
_tools = decoded(AgentTools)
_openapi = decoded(OpenApi)

#: Fetching an agent over a slow line takes minutes.
INSTALL_TIMEOUT = 900.0


def health() -> Call[Health]:
    """Is it there? Needs no token."""
    return get(path("health"), _health)


def openapi() -> Call[OpenApi]:
    """The daemon's own description of its API."""
    return get("/openapi.json", _openapi)


def metrics() -> Call[str]:
    """Prometheus text."""
    return get("/metrics", lambda reply: reply.body.decode())


def agents() -> Call[list[AgentInfo]]:
    """What agents there are, what is installed, who is logged in."""
    return get(path("agents"), _agent_list)


def models(agent: str) -> Call[Models]:
    return get(path("agents", agent, "models"), _models)


def modes(agent: str) -> Call[Modes]:
    return get(path("agents", agent, "modes"), _modes)


def agent_tools(agent: str) -> Call[AgentTools]:
    """The agent's own tools: what tool policies can name, and enforce on each."""
    return get(path("agents", agent, "tools"), _tools)


def install(agent: str, *, reinstall: bool = False) -> Call[None]:
    """Fetch the tested version of an agent. Returns when it is there."""
    return post(path("agents", agent, "install"), nothing, {"reinstall": reinstall}, timeout=INSTALL_TIMEOUT)


def _agent_list(reply: Reply) -> list[AgentInfo]:
    return _agents(reply).agents
