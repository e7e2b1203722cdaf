"""A TCP proxy in front of a server, which cuts connections at chosen moments."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal, TypeAlias

#: Whether the server still gets the COMMIT at which the connection is cut.
Cut: TypeAlias = Literal["before", "after"]


class CuttingProxy:
    """Forwards bytes. When `cut` is set, the next COMMIT ends its connection, without an answer to the client."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.cut: Cut | None = None
        self.cuts = 0
        #: No new connection is accepted.
        self.closed = False
        #: So many more pieces of data pass to the server. Then none does until this is changed; None is no limit.
        self.passing: int | None = None

    def drop(self) -> None:
        """Ends all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.closed:
            writer.transport.abort()
            return
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:  # the server is away
            writer.transport.abort()
            return
        if self.closed:  # since this connection was begun
            writer.transport.abort()
            to_writer.transport.abort()
            return
        both = {writer, to_writer}
        self._writers |= both
        with suppress(OSError, asyncio.CancelledError):  # cancelled at the end of the event loop
            await asyncio.gather(self._requests(reader, to_reader, to_writer, writer), _pipe(to_reader, writer))
        self._writers -= both
        for each in both:
            each.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        answers: asyncio.StreamReader,
        server: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(1 << 16):
            if self.cut and b"COMMIT\0" in data:
                self.cuts += 1
                cut, self.cut = self.cut, None
                client.transport.abort()
                if cut == "after":
                    server.write(data)
                    await server.drain()
                server.write_eof()
                return
            while self.passing == 0:
                await asyncio.sleep(0.01)
            if self.passing is not None:
                self.passing -= 1
            server.write(data)
            await server.drain()
        server.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        if writer.transport.is_closing():
            continue
        writer.write(data)
        await writer.drain()
    writer.transport.abort()


@asynccontextmanager
async def cutting_proxy(port: int) -> AsyncGenerator[CuttingProxy]:
    proxy = CuttingProxy(port)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.passing = None
        proxy.drop()
        await server.wait_closed()
