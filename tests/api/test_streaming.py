"""Server-sent events: framing, positions, heartbeats and disconnects."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from everyagent.log.chunk import EventChunk
from everyagent.log.log import StoredEvent
from tests.api.fake_sessions import FakeTail
from tests.api.served import TOKEN, Served


@asynccontextmanager
async def reader(served: Served, path: str, headers: str = "") -> AsyncGenerator[tuple[asyncio.StreamReader, FakeTail]]:
    """A raw connection with an open event stream."""
    before = len(served.sessions.tails)
    incoming, outgoing = await asyncio.open_connection("127.0.0.1", served.port)
    host = f"127.0.0.1:{served.port}"
    outgoing.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {TOKEN}\r\n{headers}\r\n".encode())
    try:
        with anyio.fail_after(30):
            await incoming.readuntil(b": open\n\n")
        yield incoming, served.sessions.tails[before]
    finally:
        outgoing.close()
        await outgoing.wait_closed()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.001)


async def test_a_stream_starts_with_retry_and_has_the_stored_bytes(served: Served) -> None:
    served.sessions.add("over", count=3, ended=True)
    response = await served.client.get("/v1/sessions/over/events/sse")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["x-request-id"]
    frames = b"".join(
        b"id: %d\nevent: message\ndata: %b\n\n" % (sequence, body)
        for sequence, body in enumerate(served.sessions.bodies["over"], 1)
    )
    assert response.content == b": open\n\nretry: 1000\n" + frames


@pytest.mark.parametrize(
    ("offset", "seen", "first"),
    [("", None, 1), ("?offset=1", None, 2), ("?offset=1", "2", 3), ("", "2", 3), ("", "", 1)],
)
async def test_last_event_id_takes_precedence_over_offset(
    served: Served, offset: str, seen: str | None, first: int
) -> None:
    served.sessions.add("over", count=3, ended=True)
    headers = {} if seen is None else {"last-event-id": seen}
    response = await served.client.get(f"/v1/sessions/over/events/sse{offset}", headers=headers)
    assert response.text.removeprefix(": open\n\nretry: 1000\n").startswith(f"id: {first}\n")


@pytest.mark.parametrize("seen", ["x", "-1", "1.5", "9" * 30, "4"])
async def test_an_invalid_last_event_id_is_400(served: Served, seen: str) -> None:
    served.sessions.add("mine", count=3)
    response = await served.client.get("/v1/sessions/mine/events/sse", headers={"last-event-id": seen})
    assert response.status_code == 400


async def test_a_reader_that_has_seen_all_events_gets_204(served: Served) -> None:
    served.sessions.add("over", count=3, ended=True)
    response = await served.client.get("/v1/sessions/over/events/sse", headers={"last-event-id": "3"})
    assert (response.status_code, response.content) == (204, b"")


async def test_live_events_and_heartbeats_are_sent_at_once(served: Served) -> None:
    served.sessions.add("mine", count=0)
    async with reader(served, "/v1/sessions/mine/events/sse") as (incoming, tail):
        await tail.feed.send(None)
        with anyio.fail_after(30):
            await incoming.readuntil(b": heartbeat\n\n")
            await tail.feed.send(EventChunk(1, [StoredEvent(1, 1, b"{}")]))
            await incoming.readuntil(b"id: 1\nevent: message\ndata: {}\n\n")


async def test_a_disconnect_closes_the_tail_at_once(served: Served) -> None:
    served.sessions.add("mine", count=0)
    async with reader(served, "/v1/sessions/mine/events/sse") as (_, tail):
        assert len(served.app.readers) == 1
    with anyio.fail_after(30):
        await tail.closed.wait()
    await until(lambda: len(served.app.readers) == 0)


async def test_the_feed_of_all_sessions_resumes_at_its_ids(served: Served) -> None:
    async with reader(served, "/v1/events/sse", "last-event-id: 7.3\r\n"):
        pass
    refused = await served.client.get("/v1/events/sse", headers={"last-event-id": "yesterday"})
    assert refused.status_code == 400


async def test_a_slow_reader_holds_one_chunk_not_a_queue(served: Served) -> None:
    served.sessions.add("mine", count=0)
    async with reader(served, "/v1/sessions/mine/events/sse") as (_, tail):
        chunk = EventChunk(1, [StoredEvent(1, 1, b"x" * (1 << 20))])
        taken = 0
        with anyio.move_on_after(2):
            while taken < 90:
                await tail.feed.send(chunk)
                taken += 1
        waiting = tail.feed.statistics().current_buffer_used
        # Apart from what fits into the socket buffers, the events still wait in the log.
        assert waiting > 60


async def test_open_streams_end_cleanly_when_the_server_stops(served: Served) -> None:
    served.sessions.add("mine", count=0)
    async with reader(served, "/v1/sessions/mine/events/sse") as (incoming, tail):
        served.app.readers.close()
        with anyio.fail_after(30):
            await incoming.readuntil(b"0\r\n\r\n")
            await tail.closed.wait()


async def test_a_turn_is_streamed_as_the_response_to_its_message(served: Served) -> None:
    served.sessions.add("mine", count=2)
    response = await served.client.post("/v1/sessions/mine/messages/stream?include_raw=1", json={"message": "hi"})
    assert response.content.count(b"event: message\n") == 2
    refused = await served.client.post("/v1/sessions/nobody/messages/stream", json={"message": "hi"})
    assert refused.status_code == 404


async def test_a_disconnected_idle_reader_leaves_no_tasks(served: Served) -> None:
    served.sessions.add("mine", count=0)
    for _ in range(3):
        async with reader(served, "/v1/sessions/mine/events/sse") as (_, tail):
            pass
        with anyio.fail_after(30):
            await tail.closed.wait()
    gc.collect()
    await until(lambda: sum("Hangup" in repr(task) for task in asyncio.all_tasks()) == 0)
