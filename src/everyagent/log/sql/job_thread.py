"""The thread of a log's writer, of every database: takes all jobs that arrived during its last commit."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

from everyagent.errors import EveryagentError
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.group import Group
from everyagent.log.sql.jobs import Commit, Job, Work, closed

T = TypeVar("T")


class JobThread(ABC):
    """Group commit without timer or batch size. `committed` is called on the event loop, once per commit."""

    last_commit: int

    def __init__(self, committed: Callable[[Commit], None]) -> None:
        self.full = False
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    def submit(self, work: Work[T], *, session: int = 0, patient: bool = False) -> asyncio.Future[T]:
        future = self._loop.create_future()
        if self._stopping:
            future.set_exception(closed())
        else:
            self._queue.put(Job(work, future, session, patient))
        return cast("asyncio.Future[T]", future)

    def stop(self) -> None:
        """Refuses new jobs. Jobs submitted before are still committed, if they can be."""
        self._stopping = True
        self._queue.put(None)

    @abstractmethod
    def join(self) -> None:
        """Waits for the end of the thread, after `stop`."""

    @abstractmethod
    def _pause(self) -> float | None:
        """Seconds until there is something to do without a new job; None for never."""

    @abstractmethod
    def _admit(self, held: Sequence[Job], arrived: list[Job]) -> list[Job]:
        """Without jobs that must not wait behind a held one of the same session: these fail at once."""

    @abstractmethod
    def _commit(self, jobs: list[Job]) -> list[Job]:
        """Commits jobs. Returns those that are held until the store can be written to."""

    @abstractmethod
    def _tidy(self, *, idle: bool) -> None:
        """Housekeeping after each attempt. `idle`: no job arrived, and none is held."""

    def _unresolved(self) -> Sequence[Job]:
        """Jobs that are neither committed nor held when the thread ends."""
        return ()

    def _run(self) -> None:
        held: list[Job] = []
        stopped = False
        try:
            while not stopped:
                arrived, stopped = self._take()
                held = self._commit(held + self._admit(held, arrived))
                self._tidy(idle=not arrived and not held)
        finally:
            # However the thread ended, no job may wait for a commit that will not come.
            self._stopping = True
            held += self._unresolved()
            while not self._queue.empty():
                job = self._queue.get()
                held += [job] if job is not None else []
            self._post(Commit([(job.future, closed()) for job in held]))

    def _take(self) -> tuple[list[Job], bool]:
        """All waiting jobs, and whether the writer stops after them. Waits for a job if there is nothing to do."""
        jobs: list[Job] = []
        try:
            job = self._queue.get(timeout=self._pause())
            while job is not None:
                jobs.append(job)
                job = self._queue.get_nowait()
        except Empty:
            return jobs, False
        return jobs, True

    def _post(self, commit: Commit) -> None:
        if commit.outcomes:
            self._loop.call_soon_threadsafe(self._committed, commit)


def outcomes_of(jobs: Sequence[Job], group: Group) -> list[tuple[asyncio.Future[object], object]]:
    """The result of each job in the group's transaction. A refusal fails only its job; anything else is raised."""
    outcomes: list[tuple[asyncio.Future[object], object]] = []
    for job in jobs:
        try:
            outcomes.append((job.future, job.work(group)))
        except EveryagentError as refusal:
            outcomes.append((job.future, refusal))
    return outcomes


def forgotten_by(group: Group) -> list[int]:
    """Sessions and projections of which nothing in memory is right any more."""
    return [*group.deleted, *(session | PROJECTION for session in group.deleted), *group.rewritten]
