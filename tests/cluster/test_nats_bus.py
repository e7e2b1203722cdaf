"""Messages between the buses of a cluster, which nobody else receives."""

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import nats as nats_py

from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement, Hint
from everyagent.log.log import StoredEvent
from everyagent.log.nats_bus import NatsBus
from tests.cluster.watched_nats import WatchedNats
from tests.waiting import LIMIT_SECONDS


class Listener:
    def __init__(self) -> None:
        self.announcements: list[Announcement] = []
        self.chunks: list[EventChunk] = []
        self.misses = 0

    def announced(self, announcement: Announcement) -> None:
        self.announcements.append(announcement)

    def carried(self, chunk: EventChunk) -> None:
        self.chunks.append(chunk)

    def missed(self) -> None:
        self.misses += 1


class RunningBus(NatsBus):
    def __init__(self, server: WatchedNats, key: bytes) -> None:
        self.heard = Listener()
        super().__init__(server.url, key, self.heard)


@asynccontextmanager
async def running(*buses: RunningBus) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        for bus in buses:
            tasks.start_soon(bus.run)
        await until(lambda: all(bus.heard.misses for bus in buses))
        yield
        tasks.cancel_scope.cancel()


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not condition():
            await anyio.sleep(0.01)


def chunk(session: int, first: int, *bodies: bytes) -> EventChunk:
    return EventChunk(session, [StoredEvent(first + index, index, body) for index, body in enumerate(bodies)])


def subscribed(server: WatchedNats, session: int) -> Callable[[], bool]:
    return lambda: any(subject.endswith(f".events.{session}") for subject in server.subscriptions())


async def test_events_come_before_their_hints_and_large_ones_stay_in_the_database(nats: WatchedNats):
    key = secrets.token_bytes(32)
    sender, receiver = RunningBus(nats, key), RunningBus(nats, key)
    async with running(sender, receiver):
        receiver.follow({7})
        await until(subscribed(nats, 7))
        small, large = chunk(7, 1, b"a", b"b" * 100_000, b"\0\xff"), chunk(7, 4, b"c" * 2_000_000)
        other = chunk(8, 1, b"not followed")
        hints = [Hint(7, 1, 3), Hint(7, 4, 4), Hint(8, 1, 1)]
        sender.announce(Announcement("sender", 5, hints), [small, large, other])
        await until(lambda: receiver.heard.announcements)
        events = [event for each in receiver.heard.chunks for event in each.events]
        assert events == list(small.events)
        assert receiver.heard.announcements == [Announcement("sender", 5, [Hint(7, 1, 4), Hint(8, 1, 1)])]
        assert sender.heard.announcements == []
        assert sender.status(0).dropped == 1


async def test_messages_of_strangers_are_ignored(nats: WatchedNats):
    key = secrets.token_bytes(32)
    stranger, node = RunningBus(nats, secrets.token_bytes(32)), RunningBus(nats, key)
    async with running(stranger, node):
        node.follow({7})
        await until(subscribed(nats, 7))
        subjects = [subject for subject in nats.subscriptions() if subject.startswith(node._prefix)]
        assert len(subjects) == 2
        forger = await nats_py.connect(nats.url)
        for subject in subjects:
            for data in (b"", b"x" * 15, stranger._signature(subject, b"\x90") + b"\x90", b"\0" * 5000):
                await forger.publish(subject, data)
            await forger.publish(subject, node._signature(subject, b"\xc1") + b"\xc1")  # signed, and of no version
        await forger.close()
        stranger.announce(Announcement("stranger", 9, [Hint(7, 1, 1)]), [chunk(7, 1, b"forged")])
        friend = RunningBus(nats, key)
        async with running(friend):
            friend.announce(Announcement("friend", 5, [Hint(7, 1, 1)]), [chunk(7, 1, b"real")])
            await until(lambda: node.heard.announcements)
        assert [each.node_id for each in node.heard.announcements] == ["friend"]
        assert [event.body for each in node.heard.chunks for event in each.events] == [b"real"]


async def test_a_bus_sends_what_was_announced_before_its_end(nats: WatchedNats):
    key = secrets.token_bytes(32)
    leaver, other = RunningBus(nats, key), RunningBus(nats, key)
    async with running(other):
        async with running(leaver):
            leaver.announce(Announcement("leaver", news="node_left"))
        await until(lambda: other.heard.announcements)
    assert other.heard.announcements[0].news == "node_left"
