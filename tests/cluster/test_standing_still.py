"""A node that stands still at any moment, as one that is paused does, keeps no other node from going on."""

import asyncio
from collections.abc import AsyncGenerator, Sequence, Set
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from everyagent.clock import SystemClock
from everyagent.errors import EveryagentError, OwnedElsewhere, StoreUnavailable
from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement
from everyagent.log.log import Append
from everyagent.log.postgres.cluster_log import ClusterLog
from everyagent.log.postgres.nodes import NodeAddress, PostgresMembership
from everyagent.model.responses import BusStatus
from everyagent.testing.log_rules.samples import START, events, new_session, sequences, whole
from tests.postgres.proxy import CuttingProxy, cutting_proxy
from tests.postgres.server import PostgresServer
from tests.waiting import LIMIT_SECONDS

T = TypeVar("T")

#: More rows than this are sent by COPY.
EVENTS = 30


class SilentBus:
    """Uses no connection, so that the pieces of data that pass a proxy are those of the writer or the heartbeat."""

    def announce(self, announcement: Announcement, chunks: Sequence[EventChunk] = ()) -> None: ...
    def follow(self, sessions: Set[int]) -> None: ...
    def close(self) -> None: ...

    def status(self, gaps: int) -> BusStatus:
        return BusStatus(kind="notify", connected=False, sent=0, received=0, dropped=0, gaps=gaps)

    async def run(self) -> None: ...


@asynccontextmanager
async def node(url: str, folder: Path, lease_seconds: float) -> AsyncGenerator[ClusterLog]:
    """It sends no heartbeats by itself."""
    log = await ClusterLog.open(url, folder, SystemClock())
    address = NodeAddress(
        name="", url=f"http://{folder.name}", version="", lease_seconds=lease_seconds, key_check=b"key"
    )
    log.start(PostgresMembership(log.database, address), lambda _: SilentBus())
    await log.membership.join()
    try:
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def two_nodes(
    postgres: PostgresServer, folder: Path
) -> AsyncGenerator[tuple[ClusterLog, ClusterLog, CuttingProxy]]:
    """The first one reaches the database through the proxy, and its lease expires at once."""
    store = postgres.new_schema()
    async with cutting_proxy(postgres.port) as proxy:
        through = store.replace(f":{postgres.port}/", f":{proxy.port}/")
        async with node(through, folder / "first", 0) as first, node(store, folder / "second", 60) as second:
            try:
                yield first, second, proxy
            finally:
                proxy.passing, proxy.closed = None, False


async def beat(log: ClusterLog, *, remove_expired: bool) -> list[str]:
    with anyio.fail_after(LIMIT_SECONDS):
        found = await log.membership.beat(remove_expired=remove_expired, live_sessions=0, lag=0)
    return list(found.removed)


async def join(log: ClusterLog) -> None:
    """Its connections were ended, which it notices when it uses them."""
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            try:
                return await log.membership.join()
            except StoreUnavailable:
                await asyncio.sleep(0.01)


async def stands_still(proxy: CuttingProxy, work: "asyncio.Future[T]") -> bool:
    """Until nothing more passes, or the work is done."""
    with anyio.fail_after(LIMIT_SECONDS):
        while proxy.passing and not work.done():
            await asyncio.sleep(0.01)
        with suppress(TimeoutError):  # the answer to what passed last
            await asyncio.wait_for(asyncio.shield(work), 0.2)
    return not work.done()


async def test_a_node_that_stands_still_in_a_heartbeat_is_removed(postgres: PostgresServer, tmp_path: Path):
    async with two_nodes(postgres, tmp_path) as (first, second, proxy):
        passing, still = 0, True
        while still:
            proxy.passing = passing = passing + 1
            beating = asyncio.ensure_future(beat(first, remove_expired=True))
            still = await stands_still(proxy, beating)
            assert await beat(second, remove_expired=True) == [first.membership.node_id]
            proxy.passing = None
            if still:
                with pytest.raises(StoreUnavailable):
                    await beating
                await join(first)
        assert passing > 2


async def test_a_node_that_stands_still_in_a_commit_keeps_nobody_from_writing(postgres: PostgresServer, tmp_path: Path):
    async with two_nodes(postgres, tmp_path) as (first, second, proxy):
        passing, still = 0, True
        while still:
            passing += 1
            name = f"session-{passing}"
            session = await new_session(first, name)
            proxy.passing = passing
            append = Append(session=session.number, epoch=0, expected=1, at=START, events=events(2, EVENTS))
            writing = first.append(append)
            still = await stands_still(proxy, writing)
            assert await beat(second, remove_expired=True) == [first.membership.node_id]
            with anyio.fail_after(LIMIT_SECONDS):
                taken = await second.claim(name)
                head = taken.last_sequence
                await second.append(
                    Append(
                        session=taken.number, epoch=taken.epoch, expected=head, at=START, events=events(head + 1, 50)
                    )
                )
            proxy.passing = None
            with suppress(EveryagentError):
                await writing
            assert sequences(await whole(second, taken.number)) == list(range(1, 51))
            await join(first)
        assert passing > 5


async def test_a_claim_whose_answer_came_after_the_node_was_removed_is_void(postgres: PostgresServer, tmp_path: Path):
    async with two_nodes(postgres, tmp_path) as (first, _, proxy):
        session = await new_session(first)
        proxy.cut, proxy.closed = "after", True
        claiming = asyncio.ensure_future(first.claim("one"))
        with anyio.fail_after(LIMIT_SECONDS):
            while not proxy.cuts:
                await asyncio.sleep(0.01)
        first.disown()
        proxy.closed = False
        with pytest.raises(OwnedElsewhere):
            await claiming
        assert session.number not in first.follower.owned
