"""Many SSE readers in one thread that count events and discard them."""

import selectors
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from bench.figure import Unmeasured
from bench.served import Served, Server

PIECE = 1 << 20


class Marks(NamedTuple):
    """`event` is in each event once, `last` only in the end of a turn's last event."""

    event: bytes
    last: bytes


OURS = Marks(b"event: message\ndata: ", b'"status":"idle"},"raw":null}')
#: As much of a piece as is kept, to find what is cut in two.
CARRY = 64


class Reader:
    __slots__ = ("_carry", "_marks", "connection", "done", "events")

    def __init__(self, connection: socket.socket, marks: Marks) -> None:
        self.connection = connection
        self._marks = marks
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
        event, last = self._marks
        self.events += buffer.count(event, max(CARRY - len(self._carry), CARRY + 1 - len(event)), end)
        start = max(CARRY - len(self._carry), end - CARRY)
        self._carry = bytes(buffer[start:end])
        self.done = self._carry.find(last) >= 0
        return count


class Readers:
    """Readers of one stream, all at its end."""

    def __init__(self, server: Server, path: str, marks: Marks = OURS) -> None:
        self._server = server
        self._request = server.get(path)
        self._marks = marks
        self._selector = selectors.DefaultSelector()
        self.all: list[Reader] = []
        self.last_byte = 0.0

    def open(self, count: int) -> None:
        for _ in range(count):
            opened = socket.create_connection(self._server.address, timeout=30.0)
            reader = Reader(opened, self._marks)
            self.all.append(reader)
            opened.sendall(self._request)
            _read_head(opened)
            opened.setblocking(False)
            self._selector.register(opened, selectors.EVENT_READ, reader)

    def drain(self, limit: float, quiet: float | None = None) -> int:
        """Reads until each has the turn's last event. Returns the number of bytes.

        With `quiet`, it ends also when nothing came for so many seconds: the peer loses events. `last_byte` is the time
        of the last one.
        """
        buffer = bytearray(CARRY + PIECE)
        into = memoryview(buffer)[CARRY:]
        deadline = time.monotonic() + limit
        waiting, total = len(self.all), 0
        while waiting:
            if time.monotonic() > deadline:
                raise Unmeasured(f"{waiting} of {len(self.all)} readers did not get everything in {limit:.0f} s")
            ready = self._selector.select(quiet or 1.0)
            if quiet and total and not ready:
                break
            self.last_byte = time.perf_counter()
            for key, _ in ready:
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
    """Reads the response's head; more than that of our own, whose opening comment comes at once."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = opened.recv(1)
        if not piece:
            raise Unmeasured(f"a reader was refused: {head[:200]!r}")
        head += piece
