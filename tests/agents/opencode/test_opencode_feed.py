"""The event stream of a directory, against a server that loses it, falls silent, or refuses it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.opencode.protocol import feed, rest
from everyagent.agents.opencode.protocol.feed import EventFeed
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import Rest

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REFUSED = b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"

Scene = Callable[[ByteStream], Awaitable[None]]


def chunk(*types: str) -> bytes:
    body = b"".join(b'data: {"type":"%s","properties":{}}\n\n' % type.encode() for type in types)
    return b"%x\r\n%s\r\n" % (len(body), body)


class Theatre:
    """Each connection sees the next scene, then the last one again and again."""

    def __init__(self, *scenes: Scene) -> None:
        self._scenes = list(scenes)
        self.requests: list[bytes] = []

    async def __call__(self, stream: ByteStream) -> None:
        async with stream:
            self.requests.append(await stream.receive())
            scene = self._scenes.pop(0) if len(self._scenes) > 1 else self._scenes[0]
            await scene(stream)


class Told:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.gone = anyio.Event()

    async def deliver(self, batch: list[NativeEvent]) -> None:
        self.words += [said.type for said in batch]

    def missed(self) -> None:
        self.words.append("(missed)")

    async def left(self) -> None:
        self.gone.set()

    async def until(self, *words: str) -> None:
        with anyio.fail_after(LIMIT_SECONDS):
            while self.words[: len(words)] != list(words):
                await anyio.sleep(0.005)


@asynccontextmanager
async def listening(theatre: Theatre) -> AsyncGenerator[tuple[EventFeed, Told]]:
    told = Told()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, theatre)
        client = Rest(f"http://127.0.0.1:{port}", "secret")
        feed = EventFeed(client, "/some where", told.deliver, told.missed, told.left)
        tasks.start_soon(feed.run)
        yield feed, told
        await client.close()
        tasks.cancel_scope.cancel()


async def hangs_up(stream: ByteStream) -> None:
    await stream.send(HEAD + chunk("server.connected", "a"))


async def goes_on(stream: ByteStream) -> None:
    await stream.send(HEAD + chunk("server.connected", "server.heartbeat", "b"))
    await anyio.sleep_forever()


async def refuses(stream: ByteStream) -> None:
    await stream.send(REFUSED)


async def test_a_stream_that_is_lost_is_opened_again_and_the_gap_is_reported_first() -> None:
    theatre = Theatre(hangs_up, refuses, goes_on)
    async with listening(theatre) as (feed, told):
        assert await feed.opened()
        await told.until("server.connected", "a", "(missed)", "server.connected", "b")
    assert all(request.startswith(b"GET /event?directory=%2Fsome+where ") for request in theatre.requests)
    assert all(b"authorization: basic" in request.lower() for request in theatre.requests)


async def test_a_stream_that_falls_silent_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "SILENCE_LIMIT", 0.1)
    async with listening(Theatre(goes_on)) as (_, told):
        await told.until("server.connected", "b", "(missed)", "server.connected", "b", "(missed)")


async def test_a_server_that_gives_no_stream_for_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "LOST_LIMIT", 0.3)
    async with listening(Theatre(hangs_up, refuses)) as (_, told):
        with anyio.fail_after(LIMIT_SECONDS):
            await told.gone.wait()
        assert told.words == ["server.connected", "a"]
