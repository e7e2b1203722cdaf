"""The writer thread on PostgreSQL: group commit, and what becomes of it when the connection is lost.

Jobs that arrive during a commit share the next transaction. A commit whose answer was lost is never repeated blindly:
every group leaves its number in `writers`, and the next connection reads there whether it was committed.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import psycopg

from everyagent.clock import Clock
from everyagent.errors import CommitFailed, EveryagentError, StorageFull, StoreUnavailable
from everyagent.log.log import Append
from everyagent.log.postgres.blobs import PostgresBlobs
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.database import FULL, Database
from everyagent.log.postgres.group import PostgresGroup
from everyagent.log.postgres.housekeeping import Housekeeping
from everyagent.log.postgres.lease import StoreLease
from everyagent.log.postgres.partitions import Partitions
from everyagent.log.retries import Retries
from everyagent.log.sql.job_thread import JobThread, forgotten_by, outcomes_of
from everyagent.log.sql.jobs import Commit, Job
from everyagent.log.sql.writes import AppendWork

#: The pause between attempts to reach a store that is away, or to write to one whose disk is full.
RETRY_SECONDS = 0.25
#: How long a caller waits to learn what became of a commit whose answer was lost.
DOUBT_SECONDS = 5.0


class Doubt(NamedTuple):
    """A group whose COMMIT got no answer: its number, its jobs, and what to publish if it was committed."""

    number: int
    jobs: list[Job]
    commit: Commit
    since: float


class Writer(JobThread):
    def __init__(
        self,
        database: Database,
        lease: StoreLease,
        clock: Clock,
        committed: Callable[[Commit], None],
        *,
        sweeps: bool,
    ) -> None:
        """`sweeps` is that of `Housekeeping`."""
        super().__init__(committed)
        self._database = database
        self._lease = lease
        self._connection: Connection | None = lease.connection
        self._clock = clock
        self._away = False
        self._number = 0
        self._doubt: Doubt | None = None
        self._partitions = Partitions()
        self._housekeeping = Housekeeping(clock, sweeps=sweeps)
        self._commits = Retries("writing to the PostgreSQL store")
        self.last_commit = lease.last_commit
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        if self._connection is not None:
            self._lease.release(self._connection)

    def _unresolved(self) -> Sequence[Job]:
        return self._doubt.jobs if self._doubt else ()

    def _pause(self) -> float | None:
        return RETRY_SECONDS if self.full or self._away or self._doubt else self._housekeeping.due

    def _admit(self, held: Sequence[Job], arrived: list[Job]) -> list[Job]:
        sessions = {job.session for job in (*held, *self._unresolved())}
        sessions.discard(0)
        refused = [job for job in arrived if not job.patient and job.session in sessions]
        if refused:
            error = StorageFull(FULL) if self.full else self._database.away("an earlier commit waits for it")
            self._post(Commit([(job.future, error) for job in refused]))
        return [job for job in arrived if job.patient or job.session not in sessions]

    def _commit(self, jobs: list[Job]) -> list[Job]:
        if not (jobs or self.full or self._away or self._doubt):
            return []
        try:
            jobs = self._resolve(jobs)
            self._attempt(jobs)
        except Exception as error:  # noqa: BLE001 - each job is tried alone, and fails with its own error
            if self._hinders_all(error):
                return self._hold(jobs, error)
            return self._one_by_one(jobs)
        return []

    def _tidy(self, *, idle: bool) -> None:
        if idle and self._connection is not None:
            self._housekeeping.step(self._connection)

    def _one_by_one(self, jobs: list[Job]) -> list[Job]:
        """Commits jobs one at a time after a failure, so that only faulty jobs fail."""
        for index, job in enumerate(jobs):
            try:
                self._attempt([job])
            except Exception as error:  # noqa: BLE001 - the caller of the job gets it
                if self._hinders_all(error):
                    return self._hold(jobs[index:], error)
                self._post(Commit([(job.future, self._database.commit_failure(error))]))
        return []

    def _hinders_all(self, error: Exception) -> bool:
        """After a failed attempt: rolls back. True if no other job can be committed either for now."""
        self._partitions.forget()
        connection = self._connection
        if connection is None or connection.lost:
            self._drop_connection()
            return True
        with suppress(psycopg.Error):  # if it cannot be rolled back, the next BEGIN fails
            connection.execute("ROLLBACK")
        return isinstance(error, (psycopg.errors.DiskFull, StoreUnavailable))

    def _hold(self, jobs: list[Job], error: Exception) -> list[Job]:
        """Jobs that are in doubt are not among `jobs` any more. Those that are patient wait; the others fail."""
        self.full = isinstance(error, psycopg.errors.DiskFull)
        self._away = not self.full
        self._commits.failed(error)
        if self._doubt:
            jobs = [job for job in jobs if job not in self._doubt.jobs]
        if isinstance(error, StoreUnavailable):
            refusal: EveryagentError = error
        else:
            refusal = StorageFull(FULL) if self.full else self._database.away(str(error).strip() or "connection lost")
        self._post(Commit([(job.future, refusal) for job in jobs if not job.patient]))
        return [job for job in jobs if job.patient]

    def _resolve(self, jobs: list[Job]) -> list[Job]:
        """Reconnects if needed, and finds out what became of a group in doubt. Its jobs come first if it is gone."""
        doubt = self._doubt
        if doubt and time.monotonic() - doubt.since > DOUBT_SECONDS:
            self._give_up(doubt)
        connection = self._connected()
        if doubt is None:
            return jobs
        # Waits for the old transaction, if the server still works on it.
        last = self._lease.last_group(connection)
        self._doubt = None
        if last >= doubt.number:
            self._publish(doubt.commit)
            return jobs
        return [job for job in doubt.jobs if job.patient or not _answered(doubt)] + jobs

    def _give_up(self, doubt: Doubt) -> None:
        """Callers that are not patient learn that the outcome is open."""
        failure = CommitFailed("The connection to the store was lost during a commit. Read the session to know more.")
        self._post(Commit([(job.future, failure) for job in doubt.jobs if not job.patient]))

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._lease.renew()
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _attempt(self, jobs: list[Job]) -> None:
        """Commits jobs in one transaction. A refusal fails only its job; any other failure is raised without effect."""
        if jobs:
            try:
                commit = self._run_group(jobs)
            except psycopg.Error:
                connection = self._connection
                if self._doubt or connection is None or not connection.lost:
                    raise
                # Lost before COMMIT, so nothing was committed: often a connection that was cut while it was idle.
                self._drop_connection()
                self._partitions.forget()
                self._connected()
                commit = self._run_group(jobs)
            self._publish(commit)
        self._commits.succeeded()
        self.full = self._away = False

    def _run_group(self, jobs: list[Job]) -> Commit:
        connection = self._connected()
        self._number += 1
        self._lease.begin(connection)
        group = PostgresGroup(connection, PostgresBlobs(connection), self._clock, self._partitions)
        if len(steps := _plain_steps(jobs)) > 1:
            group.advance(steps)
        outcomes = outcomes_of(jobs, group)
        self._lease.mark(connection, self._number)
        chunks = group.finish()
        commit = Commit(outcomes, chunks, forgotten_by(group))
        try:
            connection.commit()
        except psycopg.Error:
            if connection.lost:
                self._doubt = Doubt(self._number, jobs, commit, time.monotonic())
            raise
        if group.deleted:
            self._housekeeping.wake()
        return commit

    def _publish(self, commit: Commit) -> None:
        self.last_commit = max([self.last_commit, *(chunk.commit for chunk in commit.chunks)])
        self._post(commit)


def _plain_steps(jobs: Sequence[Job]) -> list[Append]:
    """The first appends of their sessions, if they are plain and no other kind of job comes before them."""
    steps: dict[int, Append | None] = {}
    for job in jobs:
        if not isinstance(job.work, AppendWork):
            break
        steps.setdefault(job.session, job.work.step if job.work.plain else None)
    return [step for step in steps.values() if step]


def _answered(doubt: Doubt) -> bool:
    """Its callers that are not patient were given up."""
    return time.monotonic() - doubt.since > DOUBT_SECONDS
