"""Agents: which there are, and what can be chosen of each."""

from msgspec import Struct

from everyagent.agents.adapter import Mode, Model
from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import AgentFailed, AgentNotInstalled, StorageFull, UnknownAgent
from everyagent.model.policies import AgentTool
from everyagent.model.sessions import UnknownFrame
from everyagent.sessions import AgentInfo, Installing

routes = Routes("agents")


class AgentList(Struct, frozen=True):
    agents: list[AgentInfo]


class ModelList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`openModels`: the agent also takes models that are not listed."""

    models: list[Model]
    default_model: str | None
    open_models: bool


class ModeList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`modes` are the agent's own; `permissionModes` are the same words for every agent."""

    modes: list[Mode]
    permission_modes: list[Mode]


class ToolList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent's own tools, which tool policies name. `openTools`: it may have more than are listed."""

    tools: list[AgentTool]
    open_tools: bool


class UnknownFrames(Struct, frozen=True):
    frames: list[UnknownFrame]


class InstallAgent(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    reinstall: bool = False


@routes.add("GET", "/v1/agents")
async def list_agents(call: Call[Nothing, Nothing]) -> AgentList:
    """Every agent, whether it is installed and logged in, and what it can do."""
    return AgentList(agents=await call.sessions.agents.infos())


@routes.add("GET", "/v1/agents/{agent}/models", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_models(call: Call[Nothing, Nothing]) -> ModelList:
    """The models of an agent, with their variants."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ModelList(models=catalog.models, default_model=catalog.default_model, open_models=catalog.open_models)


@routes.add("GET", "/v1/agents/{agent}/modes", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_modes(call: Call[Nothing, Nothing]) -> ModeList:
    """The modes of an agent, and the permission modes it takes."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ModeList(modes=catalog.agent_modes, permission_modes=catalog.permission_modes)


@routes.add("GET", "/v1/agents/{agent}/tools", UnknownAgent, AgentNotInstalled, AgentFailed)
async def list_tools(call: Call[Nothing, Nothing]) -> ToolList:
    """The tools of an agent, and what tool policies can enforce on each."""
    catalog = await call.sessions.agents.models(call.path["agent"])
    return ToolList(tools=catalog.tools, open_tools=catalog.open_tools)


@routes.add("POST", "/v1/agents/{agent}/install", UnknownAgent, AgentFailed, StorageFull, effect=True)
async def install_agent(call: Call[Nothing, InstallAgent]) -> None:
    """Fetch the agent's tested version. Done when it is there."""
    await call.sessions.agents.install(call.path["agent"], reinstall=call.body.reinstall)


@routes.add("GET", "/v1/agents/{agent}/install", UnknownAgent)
async def watch_installation(call: Call[Nothing, Nothing]) -> Installing:
    """How far the agent's installation is."""
    return await call.sessions.agents.installing(call.path["agent"])


@routes.add("GET", "/v1/agents/{agent}/unknown-frames", UnknownAgent)
async def list_unknown_frames(call: Call[Nothing, Nothing]) -> UnknownFrames:
    """The newest frames of the agent that nobody knew, since the daemon started."""
    return UnknownFrames(frames=call.sessions.agents.unknown_frames(call.path["agent"]))
