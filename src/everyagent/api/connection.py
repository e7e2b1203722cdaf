"""uvicorn's HTTP connection with bounds, and with direct access for event streams.

Streams write to its transport and get its loss: ASGI's `send` would take twice the time per chunk, and waiting for
the end by `receive` a second task per reader.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everyagent.api.connection_limits import ConnectionCount, ConnectionLimits
from everyagent.api.problems import problem_response
from everyagent.api.streaming import CONNECTION
from everyagent.errors import (
    BadRequest,
    EveryagentError,
    HeadersTooLarge,
    RequestTimeout,
    TooManyConnections,
    UrlTooLong,
)
from everyagent.model.ids import new_id

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

#: A chunked body is parsed in pieces of this size, because requests may follow it.
_CHUNKED_PIECE = 4096
_LINGER_SECONDS = 2.0


class _Pipeline(list[object]):
    """Pipelined requests. Nearly always empty, and then a twelfth of the size of the deque that it replaces."""

    def appendleft(self, request: object) -> None:
        self.insert(0, request)


class _Flow(FlowControl):
    """Does not read from the socket while too much waits that was read ahead."""

    def __init__(self, connection: "HttpConnection") -> None:
        super().__init__(connection.transport)
        self._connection = connection

    def resume_reading(self) -> None:
        if self.read_paused and not self._connection.is_full:
            self._connection.note_activity()
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """One client's connection. It parses one request at a time: bytes of later ones wait until it is answered.

    `_head` are the bytes of the current request's head so far. `_body` are the bytes that its body still has, -1 if
    it is chunked. `_active_at` is when the head began, or when the last piece of the body came.
    """

    # uvicorn's attributes fill the dictionary that Python shares among connections; more of them would cost 1 KB each
    __slots__ = (
        "_active_at",
        "_ahead",
        "_body",
        "_count",
        "_head",
        "_in_body",
        "_limits",
        "_peer",
        "_refusal",
        "_refused",
        "on_lost",
    )

    def __init__(
        self,
        limits: ConnectionLimits,
        count: ConnectionCount,
        config: "Config",
        server_state: "ServerState",
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._count = count
        self._peer: str | None = None
        self._head = self._body = 0
        self._in_body = self._refused = False
        self._ahead = b""
        self._refusal: EveryagentError | None = None
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.pipeline = _Pipeline()  # pyright: ignore[reportAttributeAccessIssue]
        # So that nothing is written behind what a slow client has not taken. uvloop's TLS would always wait with 0.
        transport.set_write_buffer_limits(high=1 if self.scheme == "https" else 0)
        self.flow = _Flow(self)
        self.note_activity()
        peer = self.client[0] if self.client else ""
        try:
            self._count.enter(peer)
        except TooManyConnections as error:
            self._refuse(error)
            transport.close()
        else:
            self._peer = peer

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._ahead = b""
        if self._peer is not None:
            self._count.leave(self._peer)
        if self.on_lost is not None:
            self.on_lost()

    def write(self, data: bytes) -> bool:
        if not self.transport.is_closing():
            self.transport.write(data)
        return not self.flow.write_paused

    async def drain(self) -> None:
        await self.flow.drain()

    # -- requests -------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Too much was read ahead of the current request."""
        return len(self._ahead) > self._limits.read_ahead

    def note_activity(self) -> None:
        self._active_at = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._ahead or self._answering():
            self._ahead += data
            if self.is_full:
                self.flow.pause_reading()
        else:
            self._parse(data)

    def _answering(self) -> bool:
        """A whole request is here, and its response is not complete."""
        cycle = self.cycle
        return bool(cycle) and not cycle.more_body and not cycle.response_complete

    def _parse(self, data: bytes) -> None:
        """Parse up to the end of a request. The rest waits for its response."""
        assert self.parser
        self._unset_keepalive_if_required()
        while data and not self._refused and not self.transport.is_closing():
            if self._answering():
                self._ahead = data
                return
            size = self._rest_of_body() if self._in_body else self._rest_of_head(data)
            try:
                self.parser.feed_data(data if size >= len(data) else data[:size])
            except httptools.HttpParserUpgrade:
                pass  # no upgrade is supported: it is answered as the request that it is
            except httptools.HttpParserError:
                self._refuse(self._refusal or BadRequest("Invalid HTTP request received."))
            data = data[size:]

    def _rest_of_head(self, data: bytes) -> int:
        first = not self._head
        if first:
            self.note_activity()
        end = data.find(b"\r\n\r\n")
        size = len(data) if end < 0 else end + 4
        self._head += size
        if self._head > self._limits.head_bytes:
            url = data.partition(b"\r\n")[0] if first else b"" if self.headers else self.url
            self._refuse(self._too_long() if len(url) > self._limits.url_bytes else self._too_large())
            return 0
        return size

    def _rest_of_body(self) -> int:
        self.note_activity()
        return self._body if self._body > 0 else _CHUNKED_PIECE

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self  # pyright: ignore[reportGeneralTypeIssues]
        self._body = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        name = self.headers[-1][0]
        if name == b"content-length" and value.isdigit():
            self._body = int(value[:20])
        elif name == b"transfer-encoding":
            self._body = 0
        if len(self.headers) > self._limits.headers:
            self._stop(self._too_large())

    def on_headers_complete(self) -> None:
        if len(self.url) > self._limits.url_bytes:
            self._stop(self._too_long())
        self._in_body, self._head = True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._ahead and not self._answering() and not self.transport.is_closing():
            data, self._ahead = self._ahead, b""
            self._parse(data)
            if self.is_full:
                self.flow.pause_reading()

    # -- refusals -------------------------------------------------------------------------------------------

    def close_if_late(self, now: float) -> None:
        """End the connection if the client takes too long to send a request."""
        waited = now - self._active_at
        if self._refused:
            if waited > _LINGER_SECONDS:
                self.transport.close()
        elif self._in_body:
            if waited > self._limits.body_seconds and not self.flow.read_paused:
                self._refuse(_late("body", self._limits.body_seconds))
        elif self._head:
            if waited > self._limits.head_seconds:
                self._refuse(_late("headers", self._limits.head_seconds))
        elif not self.cycle and waited > self._limits.head_seconds:
            self.transport.close()

    def _stop(self, refusal: EveryagentError) -> None:
        """Stop the parser in one of its callbacks."""
        self._refusal = refusal
        raise refusal

    def _too_long(self) -> EveryagentError:
        limit = self._limits.url_bytes
        return UrlTooLong(f"The URL is longer than the limit of {limit} bytes.", limit=limit)

    def _too_large(self) -> EveryagentError:
        bytes_, count = self._limits.head_bytes, self._limits.headers
        return HeadersTooLarge(f"The headers exceed the limit of {bytes_} bytes or {count} headers.", limit=bytes_)

    def _refuse(self, error: EveryagentError) -> None:
        """Answer with a problem document, unless a response has begun, and end the connection.

        It is closed a little later: if data of the client is unread then, the client's system drops the response.
        """
        self.note_activity()
        self._refused, self._ahead = True, b""
        cycle = self.cycle
        if cycle and cycle.response_started and not cycle.response_complete:
            self.transport.close()
            return
        if cycle and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        request_id = new_id("req_")
        problem = problem_response(error, request_id)
        headers = [(b"connection", b"close"), (b"x-request-id", request_id.encode()), *problem.raw_headers]
        lines = [b"%b: %b\r\n" % header for header in headers]
        status = HTTPStatus(error.status)
        line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
        self.transport.write(b"".join((line, *lines, b"\r\n", problem.body)))
        if self.transport.can_write_eof():  # not with TLS
            self.transport.write_eof()
        self.flow.resume_reading()


def _late(what: str, seconds: float) -> RequestTimeout:
    return RequestTimeout(f"The request's {what} did not arrive within the limit of {seconds:g} seconds.")
