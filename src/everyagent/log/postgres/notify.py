"""A bus over PostgreSQL's LISTEN and NOTIFY, outside of the transactions of the log.

A NOTIFY holds a lock of the whole database until its commit: one statement carries all hints that waited meanwhile.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from queue import Empty, SimpleQueue
from typing import cast

import anyio
import msgspec
import psycopg

from everyagent.errors import StoreUnavailable
from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement, BusListener, joined
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import PAUSE_SECONDS, Database
from everyagent.model.responses import BusStatus

#: PostgreSQL takes payloads below 8,000 bytes; a hint has at most 64.
HINTS = 100
_WAIT_SECONDS = 0.5
_payload = msgspec.json.Decoder(Announcement)


class NotifyBus:
    """Two threads, each with a connection that is made again when it is lost."""

    def __init__(self, database: Database, listener: BusListener) -> None:
        self._database = database
        self._listener = listener
        self._sent = self._received = 0
        self._listening = False
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Announcement] = SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            for name, work in (("log-notify", self._send), ("log-listen", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def announce(self, announcement: Announcement, chunks: Sequence[EventChunk] = ()) -> None:
        """A NOTIFY is too small for events: each node reads them from the database."""
        self._queue.put(announcement)

    def follow(self, sessions: Set[int]) -> None:
        """Nothing: announcements reach all nodes."""

    def status(self, gaps: int) -> BusStatus:
        return BusStatus(
            kind="notify", connected=self._listening, sent=self._sent, received=self._received, dropped=0, gaps=gaps
        )

    async def run(self) -> None:
        """The threads do it."""
        await anyio.sleep_forever()

    def close(self) -> None:
        """Sends what was announced before, if it can."""
        self._closing.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[Connection], None]) -> None:
        while not self._closing.is_set():
            try:
                connection = self._database.connect()
            except StoreUnavailable:
                self._closing.wait(PAUSE_SECONDS)
                continue
            try:
                work(connection)
            except psycopg.Error:
                continue  # hints were lost; the readers of them look at the heads
            finally:
                connection.close()
                self._listening = self._listening and work != self._listen

    def _send(self, connection: Connection) -> None:
        connection.execute("SET synchronous_commit = off")
        channel = _channel(connection)
        while True:
            closing = self._closing.is_set()
            waiting = list(self._taken())
            for announcement in joined(waiting, HINTS):
                payload = msgspec.json.encode(announcement).decode()
                connection.execute("SELECT pg_notify(?, ?)", (channel, payload))
                self._sent += 1
            if closing and not waiting:
                return

    def _taken(self) -> Iterator[Announcement]:
        try:
            yield self._queue.get(timeout=_WAIT_SECONDS)
            while True:
                yield self._queue.get_nowait()
        except Empty:
            return

    def _listen(self, connection: Connection) -> None:
        connection.execute(f"LISTEN {_channel(connection)}")
        self._listening = True
        self._post(self._listener.missed)
        while not self._closing.is_set():
            for notification in connection.raw.notifies(timeout=_WAIT_SECONDS):
                try:
                    announcement = _payload.decode(notification.payload)
                except msgspec.DecodeError:
                    continue  # not one of ours, or of a newer version
                self._received += 1
                self._post(partial(self._listener.announced, announcement))

    def _post(self, call: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(call)


def _channel(connection: Connection) -> str:
    """One for each schema."""
    row = connection.execute("SELECT 'everyagent_' || current_schema()::regnamespace::oid").fetchone()
    return cast("tuple[str]", row)[0]
