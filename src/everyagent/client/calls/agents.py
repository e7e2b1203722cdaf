"""Calls about the daemon itself and its agents."""

from msgspec import Struct

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, path, post
from everyagent.model.parts import Json
from everyagent.model.responses import ClusterStatus, Health, ModeList, ModelList, ToolList
from everyagent.model.sessions import UnknownFrame

OpenApi = dict[str, Json]

#: Installing an agent over a slow connection takes minutes.
INSTALL_TIMEOUT = 900.0


class AgentSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as the API lists it. `capabilities` is a dictionary, so that it also has flags of newer daemons."""

    id: str
    installed: bool
    credentials_available: bool
    title: str = ""
    version: str | None = None
    tested_version: str | None = None
    path: str | None = None
    login: str | None = None
    problem: str | None = None
    capabilities: dict[str, bool] = {}
    unknown_frames: int = 0
    isolation: str | None = None
    isolations: list[str] = []
    login_command: str | None = None
    gaps: list[str] = []


class Installation(Struct, frozen=True, kw_only=True):
    """The latest installation of an agent since the daemon started. `bytes` were written so far."""

    state: str
    bytes: int = 0
    seconds: float = 0.0
    error: str | None = None


class UnknownFrames(Struct, frozen=True):
    frames: list[UnknownFrame]


class AgentSummaries(Struct, frozen=True, kw_only=True):
    agents: list[AgentSummary]


_health = decoded(Health)
_cluster = decoded(ClusterStatus)
_agents = decoded(AgentSummaries)
_models = decoded(ModelList)
_modes = decoded(ModeList)
_tools = decoded(ToolList)
_installation = decoded(Installation)
_unknown = decoded(UnknownFrames)
_openapi = decoded(OpenApi)


def cluster() -> ApiCall[ClusterStatus]:
    """The nodes that share the daemon's store."""
    return get(path("cluster"), _cluster)


def health() -> ApiCall[Health]:
    """Check that the daemon is up. Needs no token."""
    return get(path("health"), _health)


def openapi() -> ApiCall[OpenApi]:
    """The OpenAPI document of the daemon."""
    return get("/openapi.json", _openapi)


def metrics() -> ApiCall[str]:
    """The metrics in Prometheus text format."""
    return get("/metrics", lambda response: response.body.decode())


def agents() -> ApiCall[list[AgentSummary]]:
    """All agents: whether they are installed and logged in, and their capabilities."""
    return get(path("agents"), _agent_list)


def models(agent: str) -> ApiCall[ModelList]:
    """The models of an agent, with their variants."""
    return get(path("agents", agent, "models"), _models)


def modes(agent: str) -> ApiCall[ModeList]:
    """The agent's own modes, and its permission modes."""
    return get(path("agents", agent, "modes"), _modes)


def agent_tools(agent: str) -> ApiCall[ToolList]:
    """The agent's own tools, and the tool policies that can be enforced on each."""
    return get(path("agents", agent, "tools"), _tools)


def install(agent: str, *, reinstall: bool = False) -> ApiCall[None]:
    """Install the tested version of an agent. Returns when it is installed."""
    return post(path("agents", agent, "install"), nothing, {"reinstall": reinstall}, timeout=INSTALL_TIMEOUT)


def installation(agent: str) -> ApiCall[Installation]:
    """The progress of an agent's installation."""
    return get(path("agents", agent, "install"), _installation)


def unknown_frames(agent: str) -> ApiCall[list[UnknownFrame]]:
    """The newest frames of an agent that could not be decoded since the daemon started."""
    return get(path("agents", agent, "unknown-frames"), lambda response: _unknown(response).frames)


def _agent_list(response: ApiResponse) -> list[AgentSummary]:
    return _agents(response).agents
