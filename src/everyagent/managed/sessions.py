"""Managed sessions: made, shown, listed, changed, archived, deleted."""

from collections.abc import Callable

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.errors import BadRequest, Conflict
from everyagent.log.log import Receipt
from everyagent.log.views import ViewQuery, ViewRecord
from everyagent.managed.agent import SessionAgent
from everyagent.managed.budgets import refuse_blind
from everyagent.managed.creating import Creating
from everyagent.managed.environment import Deleted
from everyagent.managed.limits import merged_metadata
from everyagent.managed.pages import cursor, position
from everyagent.managed.projection.commands import Archived, Changed, CommandFrame
from everyagent.managed.resources import Resources
from everyagent.managed.session import Session, SessionCreate, SessionList, SessionUpdate, TwoWayPage
from everyagent.managed.showing import document_of, shown
from everyagent.managed.talking import time_bounds
from everyagent.managed.tool_policies import custom_tools, fitted, policies_of
from everyagent.managed.tools import resolved
from everyagent.managed.workspace import Workspaces
from everyagent.model.events import SessionUpdated
from everyagent.model.parts import Object
from everyagent.sessions import Sessions
from everyagent.sessions.config import config_of
from everyagent.sessions.policies import enforceable
from everyagent.sessions.viewed import Batch


class ManagedSessions:
    def __init__(
        self,
        sessions: Sessions,
        *,
        creating: Creating,
        resources: Resources,
        workspaces: Workspaces,
    ) -> None:
        self._sessions = sessions
        self._viewed = sessions.viewed
        self._creating = creating
        self._resources = resources
        self._workspaces = workspaces

    async def create(self, asked: SessionCreate, receipt: Callable[[Session], Receipt] | None = None) -> Session:
        """It is made in one transaction with its receipt."""
        return await self._creating.create(asked, receipt)

    async def retrieve(self, session_id: str) -> Session:
        record, view = await self._viewed.find(session_id)
        resources = [_builtins(each) for each in await self._resources.of(session_id)]
        return shown(record, view, resources, self._viewed.clock.micros())

    async def list(self, asked: SessionList) -> TwoWayPage[Session]:
        """A page before the first is null; cursors know whether they lead on or back."""
        if asked.deployment_id or asked.memory_store_id:
            return TwoWayPage(data=[], next_page=None, prev_page=None)
        back = asked.page is not None and asked.page.startswith(_BACK)
        place = position(asked.page.removeprefix(_BACK), asked.order) if asked.page else None
        ascending = (asked.order == "asc") != back
        since, until = time_bounds(asked)
        query = ViewQuery(
            statuses=asked.statuses,
            agent_id=asked.agent_id,
            agent_version=asked.agent_version,
            since=since,
            until=until,
            archived=asked.include_archived,
            order="asc" if ascending else "desc",
            after=place if ascending else None,
            before=None if ascending else place,
            limit=asked.limit,
        )
        found = await self._viewed.list(query)
        more, found = len(found) > asked.limit, found[: asked.limit]
        if back:
            found.reverse()
        has_next, has_previous = (True, more) if back else (more, place is not None)
        return TwoWayPage(
            data=[await self._shown(view) for view in found],
            next_page=cursor(found[-1].session, asked.order) if found and has_next else None,
            prev_page=_BACK + cursor(found[0].session, asked.order) if found and has_previous else None,
        )

    async def _shown(self, view: ViewRecord) -> Session:
        record = await self._viewed.log.session(view.session_id)
        resources = [_builtins(each) for each in await self._resources.of(view.session_id)]
        return shown(record, view, resources, self._viewed.clock.micros())

    async def update(self, session_id: str, asked: SessionUpdate) -> Session:
        if asked.vault_ids is not UNSET:
            raise BadRequest(
                "`vault_ids` cannot be changed after a session was made: leave it out, or make another session.",
                field="vault_ids",
            )
        record, view = await self._viewed.find(session_id)
        if view.archived_at is not None:
            raise BadRequest(f"The session {session_id} is archived: it stays as it is.", error_code="session_archived")
        document = document_of(view)
        agent = msgspec.convert(document.agent, SessionAgent)
        changed_agent = _changed_agent(agent, asked)
        if changed_agent != agent and view.status != "idle":
            raise Conflict(
                "Tools and MCP servers are changed while the session is idle. Interrupt it, or wait.",
                error_code="session_running",
            )
        changes: dict[str, object] = {}
        if changed_agent != agent:
            changes["agent"] = msgspec.to_builtins(changed_agent)
        budget = document.budget if asked.budget is UNSET else _builtins(asked.budget) if asked.budget else None
        if budget != document.budget:
            if budget:
                adapter = self._sessions.agents.adapter(record.agent)
                refuse_blind(adapter, await adapter.catalog(), record.model, self._sessions.ground.prices)
            changes["budget"] = budget
        told: dict[str, object] = {}
        if asked.title is not UNSET and asked.title != record.title:
            told["title"] = asked.title
        if asked.metadata is not UNSET:
            metadata = merged_metadata(record.metadata, asked.metadata) if asked.metadata else {}
            if metadata != record.metadata:
                told["metadata"] = metadata
        if not changes and not told:
            return await self.retrieve(session_id)
        config = record.config
        if "agent" in changes:
            adapter = self._sessions.agents.adapter(record.agent)
            catalog = await adapter.catalog()
            policies = fitted(policies_of(changed_agent.tools, self_hosted=document.self_hosted), catalog)
            tools = custom_tools(changed_agent.tools, self_hosted=document.self_hosted)
            policies = enforceable(policies, adapter, catalog, tools)
            config = msgspec.json.encode(replace(config_of(record), tools=tools, tool_policies=policies))
        batch = Batch(
            cause=msgspec.json.encode(CommandFrame(managed=Changed(**changes))),  # pyright: ignore[reportArgumentType]
            updated=SessionUpdated(**told) if told else None,  # pyright: ignore[reportArgumentType]
            record=replace(record, config=config, **told),
            restart="agent" in changes,
        )
        await self._viewed.submit(session_id, lambda _: batch)
        return await self.retrieve(session_id)

    async def archive(self, session_id: str) -> Session:
        """It ends, and can still be read. One that runs must be interrupted first."""
        _, view = await self._viewed.find(session_id)
        if view.archived_at is None:
            self._refuse_if_running(view, "archived")
            if view.status != "terminated":
                cause = msgspec.json.encode(CommandFrame(managed=Archived()))
                await self._viewed.submit(session_id, lambda _: Batch(cause=cause))
            await self._sessions.terminate(session_id)
        return await self.retrieve(session_id)

    async def delete(self, session_id: str) -> Deleted:
        _, view = await self._viewed.find(session_id)
        self._refuse_if_running(view, "deleted")
        await self._sessions.delete(session_id)
        await self._workspaces.remove(session_id)
        return Deleted(id=session_id, type="session_deleted")

    def _refuse_if_running(self, view: ViewRecord, what: str) -> None:
        if view.status in ("running", "rescheduling"):
            raise Conflict(
                f"The session {view.session_id} is {view.status}, so it cannot be {what}. Interrupt it first: send "
                "`user.interrupt`, and wait until it is idle.",
                error_code="session_running",
            )


_BACK = "back_"


def _changed_agent(agent: SessionAgent, asked: SessionUpdate) -> SessionAgent:
    if asked.agent is UNSET:
        return agent
    tools, servers = asked.agent.tools, asked.agent.mcp_servers
    return replace(
        agent,
        tools=agent.tools if tools is UNSET else resolved(tools or []),
        mcp_servers=agent.mcp_servers if servers is UNSET else servers or [],
    )


def _builtins(value: msgspec.Struct) -> Object:
    return msgspec.to_builtins(value)
