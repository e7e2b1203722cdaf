"""uvicorn's HTTP connection with direct access for event streams: they write to its transport, and get its loss.

ASGI's `send` would take twice the time per chunk, and waiting for the end by `receive` a second task per reader.
"""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everyagent.api.problems import problem_response
from everyagent.api.streaming import CONNECTION
from everyagent.errors import BadRequest
from everyagent.model.ids import new_id


class _Pipeline(list[object]):
    """Pipelined requests. Nearly always empty, and then a twelfth of the size of the deque that it replaces."""

    def appendleft(self, request: object) -> None:
        self.insert(0, request)


class HttpConnection(HttpToolsProtocol):
    """One client's connection."""

    on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.pipeline = _Pipeline()  # pyright: ignore[reportAttributeAccessIssue]

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self  # pyright: ignore[reportGeneralTypeIssues]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    async def write(self, data: bytes) -> None:
        """Waits first while the client is too slow for what was written before."""
        if self.flow.write_paused:
            await self.flow.drain()
        if not self.transport.is_closing():
            self.transport.write(data)

    def send_400_response(self, msg: str) -> None:
        """The response to invalid HTTP, as a problem document."""
        request_id = new_id("req_")
        problem = problem_response(BadRequest(msg), request_id)
        headers = [(b"connection", b"close"), (b"x-request-id", request_id.encode()), *problem.raw_headers]
        lines = [b"%b: %b\r\n" % header for header in headers]
        self.transport.write(b"".join((b"HTTP/1.1 400 Bad Request\r\n", *lines, b"\r\n", problem.body)))
        self.transport.close()
