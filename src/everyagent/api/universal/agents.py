"""Routes that list and install agents, and list their models, modes and tools."""

from msgspec import Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import AgentFailed, AgentNotInstalled, StorageFull, UnknownAgent
from everyagent.model.responses import ModeList, ModelList, ToolList
from everyagent.model.sessions import UnknownFrame
from everyagent.sessions import AgentInfo, Installing

routes = Routes("agents")


class AgentList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`defaultAgent` is the agent of sessions that name none."""

    agents: list[AgentInfo]
    default_agent: str


class UnknownFrames(Struct, frozen=True):
    frames: list[UnknownFrame]


class InstallAgent(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    reinstall: bool = False


@routes.add("GET", "/v1/agents")
async def list_agents(call: Call[Nothing, Nothing]) -> AgentList:
    """List all agents with their installation, login and capabilities."""
    return AgentList(agents=await call.sessions.agents.infos(), default_agent=call.sessions.services.default_agent)


@routes.add("GET", "/v1/agents/{agent}/models", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_models(call: Call[Nothing, Nothing]) -> ModelList:
    """List the models of an agent and their variants."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ModelList(models=catalog.models, default_model=catalog.default_model, open_models=catalog.open_models)


@routes.add("GET", "/v1/agents/{agent}/modes", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_modes(call: Call[Nothing, Nothing]) -> ModeList:
    """List the modes of an agent and the permission modes that it supports."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ModeList(modes=catalog.agent_modes, permission_modes=catalog.permission_modes)


@routes.add("GET", "/v1/agents/{agent}/tools", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_tools(call: Call[Nothing, Nothing]) -> ToolList:
    """List the tools of an agent and the tool policies that can be enforced on each."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ToolList(tools=catalog.tools, open_tools=catalog.open_tools)


@routes.add("POST", "/v1/agents/{agent}/install", UnknownAgent, AgentFailed, StorageFull, effect=True, scope="admin")
async def install_agent(call: Call[Nothing, InstallAgent]) -> None:
    """Install the tested version of an agent. Responds when it is installed."""
    await call.sessions.agents.install(call.path["agent"], reinstall=call.body.reinstall)


@routes.add("GET", "/v1/agents/{agent}/install", UnknownAgent)
async def watch_installation(call: Call[Nothing, Nothing]) -> Installing:
    """Get the progress of an agent's installation."""
    return await call.sessions.agents.installing(call.path["agent"])


@routes.add("GET", "/v1/agents/{agent}/unknown-frames", UnknownAgent)
async def list_unknown_frames(call: Call[Nothing, Nothing]) -> UnknownFrames:
    """List the newest frames of an agent that could not be decoded since the daemon started."""
    return UnknownFrames(frames=call.sessions.agents.unknown_frames(call.path["agent"]))
