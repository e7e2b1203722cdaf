"""The store of agents and their versions."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, NotFound, RecordChanged
from everyagent.log.records import Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.agents.multiagent import AgentReference, Multiagent, expanded, pinned
from everyagent.managed.resources.agents.shape import (
    Agent,
    AgentBody,
    AgentById,
    AgentChoice,
    AgentCreate,
    AgentUpdate,
    AgentWithOverrides,
    EffortType,
    McpServer,
    ModelConfig,
    ModelParams,
    ServiceAccount,
    SessionAgent,
    SkillParams,
)
from everyagent.managed.resources.agents.tools import McpToolset, Tool, resolved
from everyagent.managed.resources.pages import Page, page_of
from everyagent.managed.resources.record_store import RecordStore, shown_as
from everyagent.model.ids import new_id
from everyagent.model.parts import Json

KIND = "agent"
VERSION_KIND = "agent_version"
_TRIES = 10

#: Fixes the versions of skills; raises for one that does not exist.
PinSkills = Callable[[Sequence[SkillParams]], Awaitable[list[SkillParams]]]


class AgentStore(RecordStore[AgentBody, Agent]):
    def __init__(self, records: Records, pin_skills: PinSkills) -> None:
        super().__init__(records, KIND, AgentBody, Agent)
        self._pin_skills = pin_skills

    async def create(self, asked: AgentCreate) -> Agent:
        agent_id = new_id("agent_")
        body = AgentBody(
            version=1,
            name=asked.name,
            model=_model(asked.model),
            description=asked.description,
            system=asked.system,
            tools=resolved(asked.tools or []),
            mcp_servers=asked.mcp_servers or [],
            skills=await self._pin_skills(asked.skills or []),
            metadata=checked_metadata(asked.metadata or {}),
            multiagent=await self._crew(asked.multiagent, AgentReference(id=agent_id, version=1)),
            execution_identity=asked.execution_identity or ServiceAccount(),
        )
        _check_servers(body.tools, body.mcp_servers)
        encoded = msgspec.json.encode(body)
        record, _ = await self._records.write(
            Insert(kind=KIND, id=agent_id, body=encoded), _version_record(agent_id, body)
        )
        return self._shown(record)

    async def retrieve(self, id: str, version: int | None = None) -> Agent:
        record = await self._records.find(KIND, id)
        return self._shown(record) if version is None else self._version(record, await self._find_version(id, version))

    async def versions(self, agent_id: str, *, limit: int, page: str | None) -> Page[Agent]:
        """Newest first."""
        agent = await self._records.find(KIND, agent_id)
        wanted = RecordQuery(kind=VERSION_KIND, parent=agent_id, limit=limit)
        return await page_of(self._records, wanted, page, lambda record: self._version(agent, record))

    async def update(self, agent_id: str, asked: AgentUpdate) -> Agent:
        """Writes a new version, unless nothing changes."""
        for _ in range(_TRIES):
            record = await self._find_active(agent_id)
            old = self._body(record)
            if asked.version not in (UNSET, None, old.version):
                raise RecordChanged(
                    f"The agent {agent_id} is at version {old.version}, not {asked.version}: it was changed "
                    "meanwhile. Nothing was written; retrieve it and try again.",
                    version=old.version,
                )
            new = await self._updated(agent_id, old, asked)
            if new == replace(old, version=new.version):
                return self._shown(record)
            try:
                record, _ = await self._records.write(
                    Replace(kind=KIND, id=agent_id, version=record.version, body=msgspec.json.encode(new)),
                    _version_record(agent_id, new),
                )
            except RecordChanged:
                continue
            return self._shown(record)
        raise RecordChanged(f"The agent {agent_id} is changed by too many at once. Try again.")

    async def for_session(self, choice: AgentChoice) -> SessionAgent:
        """The snapshot for a new session. An archived agent is refused."""
        match choice:
            case str():
                choice = AgentById(id=choice)
            case AgentById() | AgentWithOverrides():
                pass
        agent = await self.retrieve(choice.id, choice.version)
        if agent.archived_at is not None:
            raise self.archived_error(agent.id)
        if isinstance(choice, AgentWithOverrides):
            agent = await self._overridden(agent, choice)
        return _session_agent(agent, await self._expanded(agent))

    async def metadata_of(self, agent_id: str, version: int) -> dict[str, str]:
        return (await self.retrieve(agent_id, version)).metadata

    async def _updated(self, agent_id: str, old: AgentBody, asked: AgentUpdate) -> AgentBody:
        own = AgentReference(id=agent_id, version=old.version + 1)
        multiagent = old.multiagent if asked.multiagent is UNSET else await self._crew(asked.multiagent, own)
        new = replace(
            old,
            version=old.version + 1,
            name=old.name if asked.name is UNSET else asked.name,
            model=old.model if asked.model is UNSET else _model(asked.model),
            description=old.description if asked.description is UNSET else asked.description or None,
            system=old.system if asked.system is UNSET else asked.system or None,
            tools=old.tools if asked.tools is UNSET else resolved(asked.tools or []),
            mcp_servers=old.mcp_servers if asked.mcp_servers is UNSET else asked.mcp_servers or [],
            skills=old.skills if asked.skills is UNSET else await self._pin_skills(asked.skills or []),
            metadata=old.metadata if asked.metadata is UNSET else merged_metadata(old.metadata, asked.metadata),
            multiagent=multiagent,
            execution_identity=old.execution_identity
            if asked.execution_identity is UNSET
            else asked.execution_identity or ServiceAccount(),
        )
        _check_servers(new.tools, new.mcp_servers)
        return new

    async def _overridden(self, agent: Agent, given: AgentWithOverrides) -> Agent:
        new = replace(
            agent,
            model=agent.model if given.model is UNSET else _model(given.model),
            system=agent.system if given.system is UNSET else given.system or None,
            tools=agent.tools if given.tools is UNSET else resolved(given.tools or []),
            mcp_servers=agent.mcp_servers if given.mcp_servers is UNSET else given.mcp_servers or [],
            skills=agent.skills if given.skills is UNSET else await self._pin_skills(given.skills or []),
        )
        _check_servers(new.tools, new.mcp_servers)
        return new

    async def _crew(self, asked: Multiagent | None, own: AgentReference) -> Multiagent | None:
        async def pin(reference: AgentReference) -> AgentReference:
            agent = await self.retrieve(reference.id, reference.version)
            if agent.archived_at is not None:
                raise BadRequest(f"The agent {agent.id} is archived, so no agent can work with it.", field="multiagent")
            if agent.multiagent is not None:
                raise BadRequest(f"The agent {agent.id} works with others itself.", field="multiagent")
            return AgentReference(id=agent.id, version=agent.version)

        return None if asked is None else await pinned(asked, own, pin)

    async def _expanded(self, agent: Agent) -> Json:
        async def show(reference: AgentReference) -> Json:
            itself = (reference.id, reference.version) == (agent.id, agent.version)
            member = agent if itself else await self.retrieve(reference.id, reference.version)
            shown: dict[str, object] = msgspec.to_builtins(_session_agent(member, None))
            del shown["multiagent"]
            return shown

        return None if agent.multiagent is None else await expanded(agent.multiagent, show)

    async def _find_version(self, agent_id: str, version: int) -> Record:
        try:
            return await self._records.find(VERSION_KIND, f"{agent_id}.{version}")
        except NotFound:
            raise NotFound(f"The agent {agent_id} has no version {version}.", id=agent_id, version=version) from None

    def _version(self, agent: Record, version: Record) -> Agent:
        return replace(shown_as(Agent, agent, self._body(version)), updated_at=rfc3339(version.created_at))


def changed_for_session(
    agent: SessionAgent,
    tools: "Sequence[Tool] | UnsetType | None",
    mcp_servers: "Sequence[McpServer] | UnsetType | None",
) -> SessionAgent:
    """A session's agent with new tools or servers. Omitted ones stay; null clears."""
    new = replace(
        agent,
        tools=agent.tools if tools is UNSET else resolved([*(tools or ())]),
        mcp_servers=agent.mcp_servers if mcp_servers is UNSET else [*(mcp_servers or ())],
    )
    _check_servers(new.tools, new.mcp_servers)
    return new


def _model(asked: str | ModelParams) -> ModelConfig:
    if isinstance(asked, str):
        return ModelConfig(id=asked, speed="standard")
    effort = EffortType(type=asked.effort) if isinstance(asked.effort, str) else asked.effort
    return ModelConfig(id=asked.id, effort=effort, inference_geo=asked.inference_geo, speed=asked.speed or "standard")


def _check_servers(tools: Sequence[Tool], servers: Sequence[McpServer]) -> None:
    names = [server.name for server in servers]
    if len(set(names)) < len(names):
        raise BadRequest("Each of `mcp_servers` needs a name of its own.", field="mcp_servers")
    used = {tool.mcp_server_name for tool in tools if isinstance(tool, McpToolset)}
    if missing := sorted(used - set(names)):
        raise BadRequest(f"`tools` names the MCP server {missing[0]!r}, which `mcp_servers` has not.", field="tools")
    if unused := sorted(set(names) - used):
        raise BadRequest(
            f"No `mcp_toolset` in `tools` is for the MCP server {unused[0]!r}. Add one with that `mcp_server_name`.",
            field="mcp_servers",
        )


def _version_record(agent_id: str, body: AgentBody) -> Insert:
    return Insert(kind=VERSION_KIND, id=f"{agent_id}.{body.version}", parent=agent_id, body=msgspec.json.encode(body))


def _session_agent(agent: Agent, multiagent: Json) -> SessionAgent:
    shared = {name: getattr(agent, name) for name in SessionAgent.__struct_fields__ if name != "multiagent"}
    return SessionAgent(multiagent=multiagent, **shared)
