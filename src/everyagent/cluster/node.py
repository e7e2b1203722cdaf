"""This daemon as a node of a cluster: heartbeats, take-over of the sessions of dead nodes, and hand-over at its end."""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from anyio import to_thread

from everyagent.clock import ClusterClock
from everyagent.cluster.lease import LeasePolicy
from everyagent.errors import EveryagentError
from everyagent.log.fanout import News
from everyagent.log.ownership import Beat, Membership, NodeInfo, Owner
from everyagent.logs import get_logger
from everyagent.model.responses import BusStatus

#: The pause before a heartbeat that failed is tried again.
RETRY_SECONDS = 0.5
#: Sessions without an owner are looked for at every so many heartbeats, even if no node has left.
_LOOK_EVERY = 10
#: How long a hand-over waits for the database.
_LEAVE_SECONDS = 5.0

logger = get_logger(__name__)


class NodeLog(Protocol):
    """The part of a `ClusterLog` that a node needs."""

    news: list[Callable[[News], None]]

    @property
    def membership(self) -> Membership: ...
    @property
    def lag(self) -> int: ...
    def bus(self) -> BusStatus: ...
    def announce(self, news: News) -> None: ...
    def disown(self) -> None: ...


class Node:
    """`abandon` ends the agents of this node; `take_up` loads unfinished sessions that have no owner.

    `refresh` reads what other nodes may have changed. `key` signs forwarded requests. `shared_clock` is set by each
    heartbeat; `clock` is this machine's, and never set.
    """

    def __init__(
        self,
        log: NodeLog,
        key: bytes,
        *,
        abandon: Callable[[], Awaitable[None]],
        take_up: Callable[[], Awaitable[None]],
        refresh: Callable[[], Awaitable[None]],
        live_sessions: Callable[[], int],
        shared_clock: ClusterClock,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.key = key
        self.nodes: Sequence[NodeInfo] = ()
        self._log = log
        self._membership = log.membership
        self._abandon = abandon
        self._take_up = take_up
        self._refresh = refresh
        self._live_sessions = live_sessions
        self._clock = clock
        self._policy = LeasePolicy()
        self._shared_clock = shared_clock
        self._beaten_at = 0.0
        self._orphans = anyio.Event()
        self._stale = anyio.Event()
        self._left = False
        log.news.append(self._heard)

    @property
    def node_id(self) -> str:
        return self._membership.node_id

    @property
    def ready(self) -> bool:
        return not self._left and self._policy.holds(self._clock())

    def bus(self) -> BusStatus:
        return self._log.bus()

    def ids(self) -> tuple[list[str], str]:
        """The ids of the living nodes, as the last heartbeat found them, and that of this one."""
        return [node.node_id for node in self.nodes], self.node_id

    def database_time(self) -> int:
        """The database's clock, in microseconds, as far as this node knows it."""
        return self._shared_clock.micros()

    def living(self, node_id: str, since: float) -> bool:
        """False if a heartbeat after `since`, on the monotonic clock, did not find the node."""
        return self._beaten_at <= since or any(node.node_id == node_id for node in self.nodes)

    async def elsewhere(self, session_id: str) -> Owner | None:
        """The other living node that owns the session, if there is one.

        A session without an owner whose directory is not here belongs on the node that had it before.
        """
        owner = await self._membership.owner(session_id)
        if owner is not None:
            return None if owner.node_id == self.node_id else owner
        home = await self._membership.home(session_id)
        return home.node if home and not await to_thread.run_sync(Path(home.directory).is_dir) else None

    async def run(self) -> None:
        """For ever. The first heartbeat is due at once."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._take_up_orphans)
            tasks.start_soon(self._refresh_often)
            count = 0
            while not self._left:
                asked = self._clock()
                try:
                    beat = await self._membership.beat(
                        remove_expired=self._policy.may_remove(asked),
                        live_sessions=self._live_sessions(),
                        lag=self._log.lag,
                    )
                except EveryagentError as error:
                    logger.warning("the heartbeat of this node failed, and is tried again", why=error.detail)
                    await anyio.sleep(RETRY_SECONDS)
                    continue
                if not beat.renewed:
                    await self._rejoin()
                    continue
                count += 1
                delay = self._beaten(beat, asked, look=count % _LOOK_EVERY == 0)
                await anyio.sleep(delay)

    async def leave(self) -> None:
        """Gives all sessions of this node away. Called when its agents have ended."""
        if self._left:
            return
        self._left = True
        with anyio.move_on_after(_LEAVE_SECONDS):
            try:
                await self._membership.leave()
            except EveryagentError as error:
                logger.warning("this node could not leave its cluster; its lease expires", why=error.detail)
            else:
                self._log.announce("node_left")

    def _beaten(self, beat: Beat, asked: float, *, look: bool) -> float:
        self._beaten_at = self._clock()
        self._shared_clock.set(beat.now, within=self._beaten_at - asked)
        left = {node.node_id for node in self.nodes} - {node.node_id for node in beat.nodes}
        self.nodes = beat.nodes
        for node_id in beat.removed:
            logger.warning("a node was removed, because its lease had expired", node=node_id)
        if beat.removed:
            self._log.announce("node_left")
        if beat.removed or left or look:
            self._orphans.set()
        self._stale.set()
        others = [node.lease_seconds for node in beat.nodes if node.node_id != self.node_id]
        return self._policy.renewed(asked, others)

    async def _rejoin(self) -> None:
        """Other nodes may have the sessions of this one by now."""
        logger.error("this node was removed from its cluster, because it was silent for too long: its agents end")
        self._policy.lost()
        self._log.disown()
        await self._abandon()
        try:
            await self._membership.join()
        except EveryagentError as error:
            logger.warning("this node could not join its cluster again, and tries again", why=error.detail)
            await anyio.sleep(RETRY_SECONDS)
        self._orphans.set()

    def _heard(self, news: News) -> None:
        (self._orphans if news == "node_left" else self._stale).set()

    async def _take_up_orphans(self) -> None:
        while True:
            await self._orphans.wait()
            self._orphans = anyio.Event()
            await self._guarded(self._take_up)

    async def _refresh_often(self) -> None:
        while True:
            await self._stale.wait()
            self._stale = anyio.Event()
            await self._guarded(self._refresh)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except EveryagentError as error:
            logger.warning("a node's work failed, and is tried again", why=error.detail)
        except Exception:
            logger.exception("a node's work failed")
