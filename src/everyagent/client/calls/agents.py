"""Calls about the daemon itself and the agents it knows."""

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, path, post
from everyagent.client.shapes import AgentInfo, AgentList, AgentTools, Health, Models, Modes, OpenApi

_health = decoded(Health)
_agents = decoded(AgentList)
_models = decoded(Models)
_modes = decoded(Modes)
_tools = decoded(AgentTools)
_openapi = decoded(OpenApi)

#: Fetching an agent over a slow line takes minutes.
INSTALL_TIMEOUT = 900.0


def health() -> ApiCall[Health]:
    """Is it there? Needs no token."""
    return get(path("health"), _health)


def openapi() -> ApiCall[OpenApi]:
    """The daemon's own description of its API."""
    return get("/openapi.json", _openapi)


def metrics() -> ApiCall[str]:
    """Prometheus text."""
    return get("/metrics", lambda reply: reply.body.decode())


def agents() -> ApiCall[list[AgentInfo]]:
    """What agents there are, what is installed, who is logged in."""
    return get(path("agents"), _agent_list)


def models(agent: str) -> ApiCall[Models]:
    return get(path("agents", agent, "models"), _models)


def modes(agent: str) -> ApiCall[Modes]:
    return get(path("agents", agent, "modes"), _modes)


def agent_tools(agent: str) -> ApiCall[AgentTools]:
    """The agent's own tools: what tool policies can name, and enforce on each."""
    return get(path("agents", agent, "tools"), _tools)


def install(agent: str, *, reinstall: bool = False) -> ApiCall[None]:
    """Fetch the tested version of an agent. Returns when it is there."""
    return post(path("agents", agent, "install"), nothing, {"reinstall": reinstall}, timeout=INSTALL_TIMEOUT)


def _agent_list(reply: ApiResponse) -> list[AgentInfo]:
    return _agents(reply).agents
