"""The log of a node: claims sessions that no other node owns, and follows the commits of other nodes."""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import cast

import anyio

from everyagent.errors import OwnedElsewhere
from everyagent.log.audit import AuditEntry
from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement, Follower, Heads, News, OpenBus, hints_of
from everyagent.log.log import FeedPosition, NewEvent, NewFrame, Receipt, SessionRecord
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.log import PostgresLog
from everyagent.log.postgres.nodes import NO_OWNER, PostgresMembership, claim, own, release
from everyagent.log.projections import PROJECTION, NewProjection
from everyagent.log.sql import sessions, writes
from everyagent.log.sql.jobs import Commit
from everyagent.model.responses import BusStatus


class ClusterLog(PostgresLog):
    """A `PostgresLog` that shares its database. `news` are called with the announcements of other nodes.

    A session changes its owner only when the old one releases it, or is not in the table of nodes any more, so `owned`
    is right until `disown`.
    """

    shared = True

    def start(self, membership: PostgresMembership, open_bus: OpenBus) -> None:
        """Called once, before any other method."""
        self.membership = membership
        self.news: list[Callable[[News], None]] = []
        self._bus = open_bus(self)
        self.follower = Follower(self._recent, self._signals, self._storage, self._heads, self._bus.follow)

    async def run(self) -> None:
        """For ever: follows the commits of other nodes."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._bus.run)
            tasks.start_soon(self.follower.run)

    @property
    def lag(self) -> int:
        return self.follower.lag

    def bus(self) -> BusStatus:
        return self._bus.status(self.follower.gaps)

    async def create(
        self,
        record: SessionRecord,
        events: Sequence[NewEvent],
        frames: Sequence[NewFrame] = (),
        receipt: Receipt | None = None,
        projection: NewProjection | None = None,
        audit: AuditEntry | None = None,
    ) -> SessionRecord:
        node_id = self.membership.node_id
        return await self._writer.submit(
            lambda group: own(group, writes.create(group, record, events, frames, receipt, projection, audit), node_id)
        )

    async def claim(self, session_id: str) -> SessionRecord:
        node_id, owned = self.membership.node_id, self.follower.owned
        record = await self._writer.submit(lambda group: claim(group, session_id, node_id))
        if owned is not self.follower.owned:  # the answer to the commit came late: another node may have the session
            raise OwnedElsewhere(f"This node lost the session {session_id!r} again. Nothing was changed; try again.")
        owned.add(record.number)
        return record

    async def release(self, number: int) -> None:
        """Gives a session away. This node has written its last event to it."""
        node_id = self.membership.node_id
        await self._writer.submit(lambda group: release(group, number, node_id))
        self.follower.owned.discard(number)

    async def unfinished(self) -> list[SessionRecord]:
        """Only those that no living node owns."""
        condition = f"({self._queries.unfinished}) AND {NO_OWNER}"
        return await self._readers.read(partial(sessions.unfinished, condition=condition))

    def feed(self, after: FeedPosition | None) -> AsyncIterator[EventChunk | None]:
        tail = super().feed(after)
        return tail if after is None else self._caught_up(tail)

    async def _caught_up(self, tail: AsyncIterator[EventChunk | None]) -> AsyncIterator[EventChunk | None]:
        """A position from another node may be ahead of what this one knows."""
        await self.follower.catch_up()
        async for chunk in tail:
            yield chunk

    def head(self, session: int) -> int | None:
        return super().head(session) if session & ~PROJECTION in self.follower.owned else None

    def disown(self) -> None:
        """Another node has taken the sessions of this one, also those of claims that are under way."""
        self.follower.owned = set()

    def announce(self, news: News) -> None:
        self._bus.announce(Announcement(self.membership.node_id, news=news))

    def _settle(self, commit: Commit) -> None:
        super()._settle(commit)
        hints = hints_of(commit)
        if hints:
            self._bus.announce(Announcement(self.membership.node_id, self._recent.commit, hints), commit.chunks)

    def announced(self, announcement: Announcement) -> None:
        if announcement.node_id != self.membership.node_id:
            self.follower.announced(announcement)
            if announcement.news is not None:
                for news in self.news:
                    news(announcement.news)

    def carried(self, chunk: EventChunk) -> None:
        self.follower.carried(chunk)

    def missed(self) -> None:
        self.follower.missed()

    async def _heads(self, keys: Sequence[int]) -> Heads:
        def read(connection: Connection) -> Heads:
            row = connection.execute("SELECT last_commit FROM feed").fetchone()
            rows = connection.raw.execute(
                "SELECT number, last_sequence FROM sessions WHERE number = ANY($1::bigint[]) UNION ALL "
                "SELECT session | $3, head FROM views WHERE session = ANY($2::bigint[])",
                (
                    [key for key in keys if not key & PROJECTION],
                    [key & ~PROJECTION for key in keys if key & PROJECTION],
                    PROJECTION,
                ),
            ).fetchall()
            return Heads(cast("tuple[int]", row)[0], dict(cast("list[tuple[int, int]]", rows)))

        return await self._readers.read(read)

    def _close(self) -> None:
        super()._close()
        self._bus.close()
        self.membership.close()
