"""ASGI responses that are streamed: server-sent events and downloads.

A reader costs one chunk and its position; what it has not taken yet waits in the log, not here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Protocol, TypeVar, runtime_checkable
from urllib.parse import quote

from everyagent.api.asgi import ClientDisconnect, Message, Receive, Scope, Send
from everyagent.api.sse import HEARTBEAT, OPENING, RETRY, session_frames
from everyagent.sessions import EventChunk

_SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_LOCKED_DOWN = b"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_join = b"".join
T = TypeVar("T")

#: The key in the ASGI scope of the id of the request's API key.
KEY_ID = "everyagent.key_id"
#: The key of the connection in the ASGI scope, if the server lets streams write directly.
CONNECTION = "everyagent.connection"


class DirectConnection(Protocol):
    """A connection to which streams write directly, without ASGI's `send` and `receive`."""

    on_lost: Callable[[], None] | None

    def write(self, data: bytes) -> bool:
        """False if the client has not taken all of it; then `drain` comes before the next write."""
        ...

    async def drain(self) -> None: ...


class Hangup:
    """Cancels the body of a `with` statement when the client disconnects, or `stop` is called.

    Without a `DirectConnection`, a second task waits for the disconnect; it ends with the statement.
    """

    __slots__ = ("_connection", "_receive", "_stopped", "_task", "_watch", "key_id")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._connection: DirectConnection | None = scope.get(CONNECTION)
        self.key_id: str = scope.get(KEY_ID, "")
        self._receive = receive
        self._stopped = False
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> "Hangup":
        self._task = asyncio.current_task()
        if self._connection is not None:
            self._connection.on_lost = self.stop
        else:
            self._watch = asyncio.ensure_future(self._listen())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if self._connection is not None:
            self._connection.on_lost = None
        if self._watch is not None:
            self._watch.cancel()
        if kind is asyncio.CancelledError and self._stopped and self._task is not None:
            self._task.uncancel()
            return True
        return False

    def stop(self) -> None:
        if not self._stopped and self._task is not None:
            self._stopped = True
            self._task.cancel()

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.stop()


async def unless_gone(scope: Scope, receive: Receive, work: Awaitable[T]) -> T:
    """The result of work that is cancelled if the client disconnects; then raises `ClientDisconnect`."""
    with Hangup(scope, receive):
        return await work
    raise ClientDisconnect


class OpenStreams:
    """The event streams that are open now."""

    def __init__(self) -> None:
        self._open: set[Hangup] = set()
        self._chunk = self._framed = b""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, reader: Hangup) -> None:
        self._open.add(reader)

    def discard(self, reader: Hangup) -> None:
        self._open.discard(reader)

    def count(self, key_id: str) -> int:
        return sum(reader.key_id == key_id for reader in self._open)

    def end(self, key_id: str) -> None:
        """End the streams that were opened with a key which is not valid any more."""
        for reader in tuple(self._open):
            if reader.key_id == key_id:
                reader.stop()

    def framed(self, chunk: bytes) -> bytes:
        """A chunk in HTTP's chunked encoding; readers at the same place share these bytes, too."""
        if chunk is not self._chunk:
            self._chunk, self._framed = chunk, b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return self._framed

    def close(self) -> None:
        """End all streams, each after its current frame, because the daemon stops."""
        for reader in tuple(self._open):
            reader.stop()


class EventStream:
    """An ASGI response of server-sent events; a chunk that is None is a heartbeat. `frames` makes its bytes.

    The caller subscribed to the chunks before it made this, so nothing is missed before the headers leave. `first` is a
    chunk that the caller has read already.
    """

    __slots__ = ("_chunks", "_first", "_frames", "_readers", "_started")

    def __init__(
        self,
        chunks: AsyncIterator[EventChunk | None],
        readers: OpenStreams,
        frames: Callable[[EventChunk], bytes] = session_frames,
        first: EventChunk | None = None,
    ) -> None:
        self._chunks = chunks
        self._first = first
        self._readers = readers
        self._frames = frames
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        readers = self._readers
        connection: DirectConnection | None = scope.get(CONNECTION)
        with Hangup(scope, receive) as hangup:
            readers.add(hangup)
            try:
                await send({"type": "http.response.start", "status": 200, "headers": list(_SSE_HEADERS)})
                await send(_body(OPENING))
                scope["headers"].clear()  # frees memory: a reader may stay for days, and they are not read again
                while (data := await self._next()) is not None:
                    if connection is None:
                        await send(_body(data))
                    elif not connection.write(readers.framed(data)):
                        del data  # a reader that stalls holds one piece, the one that its connection sends
                        await connection.drain()
            finally:
                readers.discard(hangup)
                await _close(self._chunks)
        await send(_body(b"", more=False))

    async def _next(self) -> bytes | None:
        """The next frames; None at the end of the stream."""
        try:
            chunk, self._first = self._first or await anext(self._chunks), None
        except StopAsyncIteration:
            return None
        if chunk is None:
            return HEARTBEAT
        data = chunk.derived(self._frames, _join)
        if self._started:
            return data
        self._started = True
        return RETRY + data


class Download:
    """An ASGI answer of bytes with their own media type. With a `size`, a shorter body is an error for the client."""

    def __init__(
        self, chunks: AsyncIterator[bytes], media_type: str, *, filename: str, size: int | None = None
    ) -> None:
        self._chunks = chunks
        self._size = size
        disposition = f"attachment; filename*=UTF-8''{quote(filename, safe='', errors='replace')}"
        self._headers = [
            (b"content-type", media_type.encode("latin-1")),
            (b"content-disposition", disposition.encode("latin-1")),
            (b"content-security-policy", _LOCKED_DOWN),
            (b"x-content-type-options", b"nosniff"),
        ]
        if size is not None:
            self._headers.append((b"content-length", str(size).encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent, head = 0, scope["method"] == "HEAD"
        with Hangup(scope, receive):
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self._headers})
                if not head:
                    async for chunk in self._chunks:
                        part = chunk if self._size is None else chunk[: self._size - sent]
                        await send(_body(part))
                        sent += len(part)
                        if sent == self._size:
                            break
            finally:
                await _close(self._chunks)
        # Left unfinished, the server cuts the connection, and the client knows.
        if head or self._size in (None, sent):
            await send(_body(b"", more=False))


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


async def _close(chunks: object) -> None:
    if isinstance(chunks, _Closable):
        await chunks.aclose()


def _body(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
