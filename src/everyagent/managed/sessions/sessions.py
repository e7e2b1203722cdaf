"""Creates, lists, updates, archives and deletes managed sessions."""

from collections.abc import Callable
from typing import cast

import msgspec

from everyagent.errors import BadRequest, Conflict
from everyagent.log.log import Receipt
from everyagent.log.projections import ProjectionQuery, ProjectionRecord
from everyagent.managed.memory.mounts import KIND as MOUNT_KIND
from everyagent.managed.memory.mounts import Mounts
from everyagent.managed.projection.commands import Archived, CommandFrame
from everyagent.managed.projection.projector import Projector
from everyagent.managed.resources.pages import cursor, position
from everyagent.managed.resources.record_store import Deleted
from everyagent.managed.resources.vaults.store import VaultStore
from everyagent.managed.sessions.conversation import time_bounds
from everyagent.managed.sessions.creation import SessionCreation
from everyagent.managed.sessions.presentation import document_of, shown
from everyagent.managed.sessions.shape import (
    DEPLOYMENT_KIND,
    ManagedSession,
    SessionCreate,
    SessionListQuery,
    SessionUpdate,
    TwoWayPage,
)
from everyagent.managed.sessions.streams import Streams
from everyagent.managed.sessions.updates import Changing
from everyagent.managed.workspace.store import ResourceStore
from everyagent.model.parts import Object
from everyagent.sessions import Sessions
from everyagent.sessions.machine.inputs import Batch


class ManagedSessions:
    def __init__(
        self,
        sessions: Sessions,
        *,
        creating: SessionCreation,
        resources: ResourceStore,
        mounts: Mounts,
        streams: Streams,
        vaults: VaultStore,
    ) -> None:
        self._vaults = vaults
        self._sessions = sessions
        self._projected = sessions.projected
        self._creating = creating
        self._resources = resources
        self._mounts = mounts
        self._streams = streams

    async def create(
        self, asked: SessionCreate, receipt: Callable[[ManagedSession], Receipt] | None = None
    ) -> ManagedSession:
        """Creates a session and its receipt in one transaction."""
        return await self._creating.create(asked, receipt)

    async def retrieve(self, session_id: str) -> ManagedSession:
        return await self._shown(await self._projected.log.projection(session_id))

    async def list(self, asked: SessionListQuery) -> TwoWayPage[ManagedSession]:
        """Cursors lead to the next or the previous page; the page before the first is null."""
        back = asked.page is not None and asked.page.startswith(_BACK)
        place = position(asked.page.removeprefix(_BACK), asked.order) if asked.page else None
        ascending = (asked.order == "asc") != back
        since, until = time_bounds(asked)
        query = ProjectionQuery(
            statuses=asked.statuses,
            agent_id=asked.agent_id,
            agent_version=asked.agent_version if asked.agent_id else None,
            owning=_owning(asked),
            since=since,
            until=until,
            archived=asked.include_archived,
            order="asc" if ascending else "desc",
            after=place if ascending else None,
            before=None if ascending else place,
            limit=asked.limit,
        )
        found = await self._projected.list(query)
        more, found = len(found) > asked.limit, found[: asked.limit]
        if back:
            found.reverse()
        has_next, has_previous = (True, more) if back else (more, place is not None)
        return TwoWayPage(
            data=[await self._shown(projection) for projection in found],
            next_page=cursor(found[-1].session, asked.order) if found and has_next else None,
            prev_page=_BACK + cursor(found[0].session, asked.order) if found and has_previous else None,
        )

    async def _shown(self, projection: ProjectionRecord) -> ManagedSession:
        record = await self._projected.log.session(projection.session_id)
        resources = [_builtins(each) for each in await self._resources.of(projection.session_id)]
        return shown(record, projection, resources, self._projected.clock.micros())

    async def update(self, session_id: str, asked: SessionUpdate) -> ManagedSession:
        record, found = await self._projected.find(session_id)
        if found.archived_at is not None:
            raise BadRequest(f"The session {session_id} is archived: it stays as it is.", error_code="session_archived")
        for vault_id in asked.vault_ids or []:
            await self._vaults.retrieve_active(vault_id)
        adapter = self._sessions.agents.adapter(record.agent)
        changing = Changing(asked, adapter, await adapter.catalog(), self._sessions.services.prices)
        await self._projected.change(
            session_id, lambda projection, row: changing.plan(cast("Projector", projection), row)
        )
        return await self.retrieve(session_id)

    async def archive(self, session_id: str) -> ManagedSession:
        """Ends the session; it can still be read. A running one must be interrupted first."""
        _, projection = await self._projected.find(session_id)
        if projection.archived_at is None:
            await self._projected.submit(
                session_id, lambda projection: _archiving(session_id, cast("Projector", projection))
            )
            if not document_of(projection).self_hosted:
                await self._mounts.last(session_id)
            await self._sessions.terminate(session_id)
        return await self.retrieve(session_id)

    async def delete(self, session_id: str) -> Deleted:
        _, projection = await self._projected.find(session_id)
        _refuse_if_running(session_id, projection.status, "deleted")
        with self._streams.deleting(session_id):
            await self._sessions.delete(session_id)
        return Deleted(id=session_id, type="session_deleted")


_BACK = "back_"


def _owning(asked: SessionListQuery) -> tuple[str, str] | None:
    """The record by which sessions of a memory store or of a deployment are found."""
    if asked.memory_store_id and asked.deployment_id:
        raise BadRequest("List sessions by `memory_store_id` or by `deployment_id`.", field="deployment_id")
    if asked.memory_store_id:
        return MOUNT_KIND, asked.memory_store_id
    return (DEPLOYMENT_KIND, asked.deployment_id) if asked.deployment_id else None


def _archiving(session_id: str, projection: Projector) -> Batch:
    _refuse_if_running(session_id, projection.state.status, "archived")
    return Batch(frame=msgspec.json.encode(CommandFrame(managed=Archived())), late=True)


def _refuse_if_running(session_id: str, status: str, what: str) -> None:
    if status in ("running", "rescheduling"):
        raise Conflict(
            f"The session {session_id} is {status}, so it cannot be {what}. Interrupt it first: send "
            "`user.interrupt`, and wait until it is idle.",
            error_code="session_running",
        )


def _builtins(value: msgspec.Struct) -> Object:
    return msgspec.to_builtins(value)
