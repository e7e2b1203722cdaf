"""Background work of the writer: deleted sessions, old receipts, unused blobs. It may fail: it is tried again."""

from contextlib import suppress

import psycopg

from everyagent.clock import Clock
from everyagent.log.postgres import blobs
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.deletion import Deletion
from everyagent.log.retries import Retries
from everyagent.log.sql import receipts

_PRUNE_MICROS = 600 * 1_000_000


class Housekeeping:
    def __init__(self, clock: Clock, *, sweeps: bool) -> None:
        """`sweeps`: contents that nothing refers to are removed here, because all are in the database."""
        self._clock = clock
        self._sweeps = sweeps
        self._deletion = Deletion()
        self._retries = Retries("removing deleted data from the PostgreSQL store")
        self._debris = True
        self._pruned_at = 0

    @property
    def due(self) -> float | None:
        """Seconds until there is something to do; None for never."""
        return self._retries.due if self._debris or self._retries.failing else None

    def wake(self) -> None:
        """A session was deleted."""
        self._debris = True

    def step(self, connection: Connection) -> None:
        """Does a bit of it. Called while no job waits."""
        if self._retries.due:
            return
        try:
            self._debris = self._debris and self._deletion.remove_slice(connection)
            now = self._clock.micros()
            if now - self._pruned_at > _PRUNE_MICROS:
                receipts.prune(connection, now)
                connection.execute("DELETE FROM writers WHERE at < now() - interval '7 days'")
                while self._sweeps and blobs.sweep(connection):
                    pass
                self._pruned_at = now
        except psycopg.Error as error:
            self._retries.failed(error)
            with suppress(psycopg.Error):  # a lost connection is replaced by the writer
                connection.execute("ROLLBACK")
        else:
            self._retries.succeeded()
