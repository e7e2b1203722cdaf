"""A bus over PostgreSQL's LISTEN and NOTIFY, outside of the transactions of the log.

A NOTIFY holds a lock of the whole database until its commit: one statement carries all hints that waited meanwhile.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import cast

import msgspec
import psycopg

from everyagent.errors import StoreUnavailable
from everyagent.log.fanout import Announcement, Hint
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import PAUSE_SECONDS, Database

#: PostgreSQL takes payloads below 8,000 bytes; a hint has at most 64.
HINTS = 100
_WAIT_SECONDS = 0.5
_payload = msgspec.json.Decoder(Announcement)


class NotifyBus:
    """Two threads, each with a connection that is made again when it is lost."""

    def __init__(self, database: Database, receive: Callable[[Announcement | None], None]) -> None:
        self._database = database
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Announcement] = SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            for name, work in (("log-notify", self._send), ("log-listen", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def announce(self, announcement: Announcement) -> None:
        self._queue.put(announcement)

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

    def _send(self, connection: Connection) -> None:
        connection.execute("SET synchronous_commit = off")
        channel = _channel(connection)
        while True:
            closing = self._closing.is_set()
            waiting = list(self._taken())
            for announcement in _joined(waiting):
                payload = msgspec.json.encode(announcement).decode()
                connection.execute("SELECT pg_notify(?, ?)", (channel, payload))
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
        self._post(None)
        while not self._closing.is_set():
            for notification in connection.raw.notifies(timeout=_WAIT_SECONDS):
                try:
                    announcement = _payload.decode(notification.payload)
                except msgspec.DecodeError:
                    continue  # not one of ours, or of a newer version
                self._post(announcement)

    def _post(self, announcement: Announcement | None) -> None:
        self._loop.call_soon_threadsafe(self._receive, announcement)


def _joined(waiting: Sequence[Announcement]) -> Iterator[Announcement]:
    """The same in fewer announcements: one hint a session, as far as they follow each other."""
    hints: dict[int, Hint] = {}
    commit = max((each.commit for each in waiting), default=0)
    for announcement in waiting:
        if announcement.news is not None:
            yield announcement
        for hint in announcement.hints:
            earlier = hints.pop(hint.session, None)
            joined = earlier is not None and earlier.last and hint.last
            hints[hint.session] = hint if not joined or earlier is None else earlier._replace(last=hint.last)
    whole = list(hints.values())
    for start in range(0, len(whole), HINTS):
        yield Announcement(waiting[0].node_id, commit, whole[start : start + HINTS])


def _channel(connection: Connection) -> str:
    """One for each schema."""
    row = connection.execute("SELECT 'everyagent_' || current_schema()::regnamespace::oid").fetchone()
    return cast("tuple[str]", row)[0]
