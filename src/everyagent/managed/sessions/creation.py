"""Creates managed sessions from an agent's snapshot, an environment and a coding agent."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

import anyio
import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.errors import BadRequest
from everyagent.log.log import Receipt, SessionRecord
from everyagent.log.projections import NewProjection
from everyagent.managed.field_limits import checked_metadata
from everyagent.managed.projection.document import SessionDocument, ThreadOf
from everyagent.managed.projection.state import State
from everyagent.managed.resources.agents.coding_agents import coding_agent, model_for, variant_for
from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.managed.resources.agents.store import AgentStore
from everyagent.managed.resources.agents.tool_policies import custom_tools, fitted, policies_of
from everyagent.managed.resources.environments.networking import hosts_of
from everyagent.managed.resources.environments.shape import Environment, SelfHosted
from everyagent.managed.resources.environments.store import EnvironmentStore
from everyagent.managed.resources.vaults.store import VaultStore
from everyagent.managed.roster.members import TOOL as ROSTER_TOOL
from everyagent.managed.roster.members import members_of, roster_tool
from everyagent.managed.sessions.budgets import refuse_spent
from everyagent.managed.sessions.conversation import Talking
from everyagent.managed.sessions.initial_events import InitialEvents, PendingEvent
from everyagent.managed.sessions.presentation import new_session
from everyagent.managed.sessions.shape import ManagedSession, SessionCreate
from everyagent.managed.workspace.store import ResourceStore
from everyagent.managed.workspace.workspace import Workspaces
from everyagent.model.ids import new_id
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.sessions import CreateSession
from everyagent.sessions import Sessions
from everyagent.sessions.launch.allowed_hosts import no_shell
from everyagent.sessions.launch.known_costs import require_known_costs

#: The metadata key with which the session of a thread names its coordinator's.
THREAD_OF = "everyagent.thread_of"


class Origin(NamedTuple):
    """The deployment that a session is created for, with the session's id and first events."""

    session_id: str
    deployment_id: str
    events: "Sequence[PendingEvent]"


class SessionCreation:
    def __init__(
        self,
        sessions: Sessions,
        *,
        agents: AgentStore,
        environments: EnvironmentStore,
        vaults: VaultStore,
        resources: ResourceStore,
        workspaces: Workspaces,
        talking: Talking,
        initial_events: InitialEvents,
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._environments = environments
        self._vaults = vaults
        self._resources = resources
        self._workspaces = workspaces
        self._talking = talking
        self._initial_events = initial_events

    async def create(
        self,
        asked: SessionCreate,
        receipt: Callable[[ManagedSession], Receipt] | None = None,
        origin: Origin | None = None,
    ) -> ManagedSession:
        """Creates the session with its resources and receipt: all or nothing."""
        agent = await self._agents.for_session(asked.agent)
        environment = await self._environments.retrieve_active(asked.environment_id)
        metadata = checked_metadata(asked.metadata or {})
        if asked.budget:
            refuse_spent(asked.budget, 0.0)
        for vault_id in asked.vault_ids or []:
            await self._vaults.retrieve_active(vault_id)
        session_id = origin.session_id if origin else new_id("sesn_")
        document = SessionDocument(
            agent=msgspec.to_builtins(agent),
            environment_id=environment.id,
            environment=msgspec.to_builtins(environment),
            vault_ids=asked.vault_ids or [],
            budget=msgspec.to_builtins(asked.budget) if asked.budget else None,
            self_hosted=isinstance(environment.config, SelfHosted),
            deployment_id=origin.deployment_id if origin else None,
        )
        events: Sequence[PendingEvent] = origin.events if origin else asked.initial_events or []
        await self._talking.check(events)
        staged = bool(events or asked.resources)
        if staged:
            await self._initial_events.keep(session_id, events)
        made: list[ManagedSession] = []

        def created(record: SessionRecord) -> Receipt | None:
            made.append(new_session(record, document, resources, begun=bool(events)))
            return receipt(made[0]) if receipt else None

        try:
            resources = [
                msgspec.to_builtins(each) for each in await self._resources.give(session_id, asked.resources or [])
            ]
            directory = await asyncio.to_thread(self._workspaces.directory, session_id)
            request = await self._request(agent, document, str(directory), asked.title)
            request = replace(request, metadata=metadata)
            members = members_of(document.agent)
            if members and any(tool.name == ROSTER_TOOL for tool in request.tools):
                raise BadRequest(f"{ROSTER_TOOL!r} is the tool of the roster. Name the custom tool otherwise.")
            await self._sessions.projected.create(
                session_id,
                request,
                _projection(document, agent),
                created,
                own_tools=[roster_tool(members)] if members else [],
            )
        except BaseException:
            with anyio.CancelScope(shield=True):
                await (self._initial_events.give_up(session_id) if staged else self._workspaces.remove(session_id))
            raise
        if staged:
            await self._initial_events.begin(session_id, events)
        return made[0]

    async def create_thread(
        self,
        session_id: str,
        coordinator: SessionRecord,
        of: ThreadOf,
        document: SessionDocument,
        agent: SessionAgent,
    ) -> None:
        """Creates the session of a thread of the roster. `document` is the coordinator's: they share a folder."""
        document = SessionDocument(
            agent={name: value for name, value in msgspec.to_builtins(agent).items() if name != "multiagent"},
            environment_id=document.environment_id,
            environment=document.environment,
            budget=document.budget,
            self_hosted=document.self_hosted,
            thread_of=of,
        )
        directory = await asyncio.to_thread(self._workspaces.directory, of.session)
        title = f"{agent.name} for {coordinator.shown_title or of.session}"
        request = await self._request(agent, document, str(directory), title)
        document = replace(document, budget=None)  # counted in the coordinator's session
        await self._sessions.projected.create(
            session_id,
            replace(request, metadata={THREAD_OF: of.session}),
            replace(_projection(document, agent), environment_id=""),
        )

    async def _request(
        self, agent: SessionAgent, document: SessionDocument, directory: str, title: str | None
    ) -> CreateSession:
        """The request for the universal session behind it."""
        default = self._sessions.services.default_agent
        name = coding_agent(agent.model.id, await self._agents.metadata_of(agent.id, agent.version), default)
        adapter = self._sessions.agents.adapter(name)
        catalog: Catalog = await adapter.catalog()
        model = model_for(catalog, agent.model.id)
        if document.budget:
            require_known_costs(adapter, catalog, model, self._sessions.services.prices)
        policies = policies_of(agent.tools, self_hosted=document.self_hosted)
        trusting = policies == ToolPolicies(default="allow")
        policies = UNRESTRICTED if trusting and not adapter.capabilities.tool_policies else fitted(policies, catalog)
        hosts = hosts_of(msgspec.convert(document.environment, Environment).config, agent.mcp_servers)
        if catalog.sandbox is None or (catalog.sandbox == "shell" and await no_shell()):
            hosts = None
        return CreateSession(
            agent=name,
            model=model,
            variant=variant_for(catalog, model, agent.model.effort.type if agent.model.effort else None),
            directory=directory,
            title=title,
            permission_mode=_mode(catalog, hosts, trusting=trusting),
            allowed_hosts=hosts,
            system_prompt=agent.system,
            tools=custom_tools(agent.tools, self_hosted=document.self_hosted),
            tool_policies=policies,
        )


def _mode(catalog: Catalog, hosts: list[str] | None, *, trusting: bool) -> str | None:
    """The permission mode. Tool policies decide what needs a confirmation, so a sandboxed mode suffices."""
    if hosts is not None and catalog.sandbox_modes:
        return catalog.sandbox_modes[0]
    return "bypass" if trusting else None


def _projection(document: SessionDocument, agent: SessionAgent) -> NewProjection:
    return NewProjection(
        agent_id=agent.id,
        agent_version=agent.version,
        environment_id=document.environment_id,
        status="idle",
        state=msgspec.json.encode(State()),
        document=msgspec.json.encode(document),
    )
