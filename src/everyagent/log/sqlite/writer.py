"""The writer thread on SQLite: group commit, full disks, damage, checkpoints and housekeeping."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

import apsw

from everyagent.clock import Clock
from everyagent.errors import CommitFailed, StorageFull
from everyagent.log.blobs import Blobs
from everyagent.log.retries import Retries
from everyagent.log.sql import receipts
from everyagent.log.sql.job_thread import JobThread, forgotten_by, outcomes_of
from everyagent.log.sql.jobs import Commit, Job
from everyagent.log.sqlite.checkpoint import LARGE_PAGES, Checkpointer
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.database import FULL, commit_failure, is_full
from everyagent.log.sqlite.deletion import Deletion
from everyagent.log.sqlite.group import SqliteGroup
from everyagent.log.sqlite.health import OpenedFiles, repair_search

#: The pause between attempts to write to a full disk.
RETRY_SECONDS = 0.25
#: A repair of the full-text index that did not help is not repeated sooner.
REPAIR_PAUSE_SECONDS = 60.0
#: How often a busy writer looks whether the database file is still there.
LOOK_SECONDS = 0.25
PRUNE_MICROS = 600 * 1_000_000


class Writer(JobThread):
    def __init__(
        self,
        connection: Connection,
        blobs: Blobs,
        clock: Clock,
        checkpointer: Checkpointer,
        committed: Callable[[Commit], None],
        files: OpenedFiles | None = None,
    ) -> None:
        super().__init__(committed)
        self._connection = connection
        self._blobs = blobs
        self._clock = clock
        self._checkpointer = checkpointer
        self._files = files
        self._debris = True
        self._deletion = Deletion()
        self._orphans: set[bytes] = set()
        self._housekeeping = Retries("removing deleted data from the log")
        self._commits = Retries("writing to the log")
        self._pruned_at = 0
        self._repair_after = 0.0
        self._look_after = 0.0
        self._wal_pages = 0
        row = connection.execute("SELECT coalesce(max(number), 0) FROM commits").fetchone()
        self.last_commit = cast("tuple[int]", row)[0]
        connection.set_wal_hook(self._on_wal)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        self._connection.close()

    def _pause(self) -> float | None:
        if self.full:
            return RETRY_SECONDS
        return self._housekeeping.due if self._debris or self._housekeeping.failing else None

    def _admit(self, held: Sequence[Job], arrived: list[Job]) -> list[Job]:
        sessions = {job.session for job in held}
        if not sessions:
            return arrived
        refused = [job for job in arrived if not job.patient and job.session in sessions]
        self._post(Commit([(job.future, StorageFull(FULL)) for job in refused]))
        return [job for job in arrived if job.patient or job.session not in sessions]

    def _commit(self, jobs: list[Job]) -> list[Job]:
        """Jobs that are held wait for room on the disk."""
        if not jobs and not self.full:
            return []
        if lost := self._lost():
            self._fail(jobs, CommitFailed(lost))
            return []
        try:
            self._attempt(jobs)
        except Exception as error:  # noqa: BLE001 - each job is tried alone, and fails with its own error
            if self._roll_back(error):
                return self._hold(jobs, error)
            if self._repaired(error):
                return self._commit(jobs)
            if isinstance(error, apsw.BusyError):  # trying each alone would wait for the lock once per job
                self._fail(jobs, error)
            else:
                return self._one_by_one(jobs)
        return []

    def _lost(self) -> str:
        """Looked at seldom: the thread gives up the interpreter for it."""
        now = time.monotonic()
        if self._files is None or now < self._look_after:
            return ""
        lost = self._files.lost()
        self._look_after = now + (0 if lost else LOOK_SECONDS)
        return lost

    def _one_by_one(self, jobs: list[Job]) -> list[Job]:
        """Commits jobs one at a time after a failure other than a full disk, so that only faulty jobs fail."""
        for index, job in enumerate(jobs):
            try:
                self._attempt([job])
            except Exception as error:  # noqa: BLE001 - the caller of the job gets it
                if self._roll_back(error):
                    return self._hold(jobs[index:], error)
                if isinstance(error, apsw.BusyError):
                    self._fail(jobs[index:], error)
                    break
                self._fail([job], error)
        return []

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        if isinstance(error, (apsw.Error, OSError, CommitFailed)):
            self._commits.failed(error)
        self._post(Commit([(job.future, commit_failure(error)) for job in jobs]))

    def _hold(self, jobs: list[Job], error: Exception) -> list[Job]:
        self.full = True
        self._commits.failed(error)
        self._checkpointer.want()
        self._post(Commit([(job.future, StorageFull(FULL)) for job in jobs if not job.patient]))
        return [job for job in jobs if job.patient]

    def _attempt(self, jobs: Sequence[Job]) -> None:
        """Commits jobs in one transaction. A refusal fails only its job; any other failure is raised without effect."""
        connection = self._connection
        group = SqliteGroup(connection, self._blobs, self._clock, self.last_commit)
        connection.execute("BEGIN IMMEDIATE")
        outcomes = outcomes_of(jobs, group)
        if self.full:
            connection.execute("UPDATE room SET tries = tries + 1")
        chunks = group.finish()
        connection.execute("COMMIT")
        self._commits.succeeded()
        self.full = False
        self.last_commit = group.last_commit
        self._post(Commit(outcomes, chunks, forgotten_by(group)))
        self._orphans |= group.orphans
        self._debris = self._debris or bool(group.deleted)

    def _roll_back(self, error: Exception) -> bool:
        """Returns True if the disk was full."""
        full = is_full(error, self._connection)
        if self._connection.in_transaction:
            with suppress(apsw.Error):  # the transaction has usually ended anyway; if not, the next BEGIN fails
                self._connection.execute("ROLLBACK")
        return full

    def _repaired(self, error: Exception) -> bool:
        """Whether a damaged full-text index was the cause, and was built again. It must not stop any session."""
        now = time.monotonic()
        if now < self._repair_after or not isinstance(error, (apsw.CorruptError, apsw.NoMemError, apsw.SQLError)):
            return False
        self._repair_after = now + REPAIR_PAUSE_SECONDS
        try:
            return repair_search(self._connection)
        except apsw.Error as failure:
            self._roll_back(failure)
            return False

    def _remove_orphans(self) -> None:
        """A file that cannot be removed stays until the next start, when all unused blobs are removed."""
        while self._orphans:
            digest = self._orphans.pop()
            if not self._connection.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone():
                self._blobs.remove(digest)

    def _on_wal(self, _connection: Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _tidy(self, *, idle: bool) -> None:
        """A step that fails is tried again, after a pause."""
        if not self._checkpointer.working and self._checkpointer.worthwhile(self._wal_pages):
            if self._wal_pages >= LARGE_PAGES:
                self._checkpointer.move(self._connection)
            self._checkpointer.want()
        if self.full or self._housekeeping.due:
            return
        try:
            self._remove_orphans()
            if self._debris and (idle or self._housekeeping.failing):
                self._debris = self._deletion.remove_slice(self._connection)
            now = self._clock.micros()
            if now - self._pruned_at > PRUNE_MICROS:
                receipts.prune(self._connection, now)
                self._pruned_at = now
        except (apsw.Error, OSError) as error:
            self.full = self._roll_back(error)
            self._repaired(error)
            self._housekeeping.failed(error)
        else:
            self._housekeeping.succeeded()
