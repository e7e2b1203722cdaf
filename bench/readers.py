"""Many SSE readers in one thread that count events and discard them."""

import selectors
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager

from bench.figure import Unmeasured
from bench.served import Served

PIECE = 1 << 20
#: Is in each event once.
EVENT = b"event: message\ndata: "
#: The end of a turn's last event.
LAST = b'"status":"idle"},"raw":null}'
#: As much of a piece as is kept, to find what is cut in two.
CARRY = 64


class Reader:
    __slots__ = ("_carry", "connection", "done", "events")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.events = 0
        self.done = False
        self._carry = b""

    def take(self, buffer: bytearray, into: memoryview) -> int:
        """Reads once. `into` is the buffer after its first `CARRY` bytes."""
        try:
            count = self.connection.recv_into(into)
        except ConnectionError as error:
            raise Unmeasured(f"a reader lost its connection: {error}") from error
        if not count:
            raise Unmeasured("the daemon closed a reader's connection")
        end = CARRY + count
        buffer[CARRY - len(self._carry) : CARRY] = self._carry
        self.events += buffer.count(EVENT, max(CARRY - len(self._carry), CARRY + 1 - len(EVENT)), end)
        start = max(CARRY - len(self._carry), end - CARRY)
        self._carry = bytes(buffer[start:end])
        self.done = self._carry.find(LAST) >= 0
        return count


class Readers:
    """Readers of one stream, all at its end."""

    def __init__(self, served: Served, path: str) -> None:
        self._served = served
        self._request = served.get(path)
        self._selector = selectors.DefaultSelector()
        self.all: list[Reader] = []

    def open(self, count: int) -> None:
        for _ in range(count):
            opened = socket.create_connection(self._served.address, timeout=30.0)
            reader = Reader(opened)
            self.all.append(reader)
            opened.sendall(self._request)
            _read_head(opened)
            opened.setblocking(False)
            self._selector.register(opened, selectors.EVENT_READ, reader)

    def drain(self, limit: float) -> int:
        """Reads until each has the turn's last event. Returns the number of bytes."""
        buffer = bytearray(CARRY + PIECE)
        into = memoryview(buffer)[CARRY:]
        deadline = time.monotonic() + limit
        waiting, total = len(self.all), 0
        while waiting:
            if time.monotonic() > deadline:
                raise Unmeasured(f"{waiting} of {len(self.all)} readers did not get everything in {limit:.0f} s")
            for key, _ in self._selector.select(1.0):
                reader: Reader = key.data
                total += reader.take(buffer, into)
                if reader.done:
                    self._selector.unregister(reader.connection)
                    waiting -= 1
        return total

    def close(self) -> None:
        self._selector.close()
        for reader in self.all:
            reader.connection.close()


@contextmanager
def reading(served: Served, session_id: str, offset: int, count: int, types: str = "") -> Generator[Readers]:
    """`types` is the readers' filter."""
    chosen = f"&types={types}" if types else ""
    readers = Readers(served, f"/v1/sessions/{session_id}/events/sse?offset={offset}{chosen}")
    try:
        readers.open(count)
        yield readers
    finally:
        readers.close()


def _read_head(opened: socket.socket) -> None:
    """Reads the response's head and the stream's opening comment."""
    head = b""
    while b": open\n\n\r\n" not in head:
        piece = opened.recv(1)
        if not piece:
            raise Unmeasured(f"a reader was refused: {head[:200]!r}")
        head += piece
