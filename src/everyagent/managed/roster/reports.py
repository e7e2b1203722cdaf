"""Reports the state of a roster's threads to the session of their coordinator while they are at work."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, cast

import anyio
import msgspec

from everyagent.errors import LogConflict, QueueFull, SessionHasEnded, SessionNotFound, StorageFull, Unavailable
from everyagent.log.projections import ProjectionRecord
from everyagent.logs import get_logger
from everyagent.managed.projection.commands import CommandFrame, Sent, SentEvent, ThreadReport
from everyagent.managed.projection.document import ThreadOf
from everyagent.managed.projection.events import Stop
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import Status, Thread
from everyagent.managed.roster.thread_reader import Look, Rested, ThreadReader, changes_state
from everyagent.managed.sessions.client_events import UserInterrupt
from everyagent.managed.sessions.presentation import subagents_of
from everyagent.model.ids import new_id
from everyagent.model.principals import EventActor, acting_in
from everyagent.model.sessions import SendMessage
from everyagent.sessions import Sessions
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.messages import InputMessage, Submission
from everyagent.sessions.machine.projection import Projection

#: The name of the message that gives a coordinator the reply of a thread for which it does not wait.
REPLY: Final = "thread_reply"
_INTERRUPTED: Final = "The turn was interrupted."
_GONE: Final = "The thread's session is gone."
#: Seconds after which something that failed is done again: twice as many each time, up to the longest.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
#: A report that fails with another error never succeeds.
_PASSING = (LogConflict, QueueFull, StorageFull, Unavailable)
logger = get_logger(__name__)


class _Expected(NamedTuple):
    """A call waits for the thread to rest after an event."""

    after: int
    rested: "asyncio.Future[Rested]"

    def resolve(self, rested: Rested) -> None:
        if not self.rested.done():
            self.rested.set_result(rested)


class ThreadReports:
    def __init__(self, sessions: Sessions) -> None:
        self._projected = sessions.projected
        self._sessions = sessions
        self._reader = ThreadReader(sessions)
        self._begun: asyncio.Queue[ThreadOf] = asyncio.Queue()
        self._followed: dict[str, bool] = {}  # whether the session was begun again since it was looked at
        self._expected: dict[str, _Expected] = {}
        self._payers: dict[str, EventActor | None] = {}
        self._pauses: dict[str, float] = {}  # of threads whose last report failed

    async def run(self) -> None:
        """For ever: follows the sessions of threads that begin to work."""
        async with anyio.create_task_group() as tasks:
            while True:
                tasks.start_soon(self._follow, await self._begun.get())

    def follow(self, of: ThreadOf, payer: EventActor | None = None) -> None:
        """Reports the thread until it rests, or until its session is gone. `payer` pays for what its reply causes."""
        if payer is not None:
            self._payers[of.thread] = payer
        if of.thread not in self._followed:
            self._begun.put_nowait(of)
        self._followed[of.thread] = True

    def expect(self, session_id: str, *, after: int) -> None:
        """A call waits until the thread rests after this event of its session."""
        self._expected[session_id] = _Expected(after, asyncio.get_running_loop().create_future())

    async def rested(self, session_id: str) -> Rested:
        return await self._expected[session_id].rested

    def forget(self, session_id: str) -> None:
        """No call waits for the thread any more."""
        self._expected.pop(session_id, None)

    async def catch_up(self, session_id: str) -> None:
        """Reports the threads of a coordinator whose daemon died."""
        for of in threads_of(await self._projected.log.projection(session_id)).values():
            self.follow(of)

    async def interrupt(self, of: ThreadOf, event: UserInterrupt | None = None) -> None:
        """Stops the turn of a thread, and withdraws what it asks."""
        frame: object = {"cause": "coordinator_interrupted"}
        if event is not None:
            frame = CommandFrame(managed=Sent(events=[SentEvent(event=event)]))
        batch = Batch(frame=msgspec.json.encode(frame), direction="daemon", interrupt=_INTERRUPTED)
        try:
            await self._projected.submit(of.thread, lambda _: batch)
        except (SessionHasEnded, SessionNotFound) as error:
            logger.info("a thread could not be interrupted", session=of.thread, why=str(error))
        self.follow(of)

    # -- following ------------------------------------------------------------------------------------------

    async def _follow(self, of: ThreadOf) -> None:
        """Until the thread rests or is lost. Errors that may pass are waited out."""
        while True:
            self._followed[of.thread] = False
            lost: Rested | None = Rested(replied=False, text=_GONE)
            try:
                lost = await self._report_until_lost(of)
            except Exception as error:
                if isinstance(error, _PASSING):
                    pause = self._pauses.get(of.thread, FIRST_PAUSE)
                    self._pauses[of.thread] = min(2 * pause, LONGEST_PAUSE)
                    note = "a thread could not be reported; it is tried again"
                    logger.warning(note, session=of.thread, seconds=pause, why=str(error))
                    await anyio.sleep(pause)
                    continue
                logger.exception("a lost thread could not be reported", session=of.thread)
            if lost and (expected := self._expected.get(of.thread)):
                expected.resolve(lost)
            if not self._followed[of.thread]:
                del self._followed[of.thread]
                self._pauses.pop(of.thread, None)
                self._payers.pop(of.thread, None)
                return

    async def _report_until_lost(self, of: ThreadOf) -> Rested | None:
        """None: the thread has come to rest. Else it is lost, as its coordinator's session shows now."""
        status: Status = "terminated"
        lost = Rested(replied=False, text=_GONE)
        try:
            projection = await self._projected.log.projection(of.thread)
            with acting_in(projection.workspace):
                await self._report_until_rest(of, projection)
                return None
        except SessionNotFound:
            logger.info("the session of a thread was deleted", session=of.thread)
        except Exception as error:
            if isinstance(error, _PASSING):
                raise
            logger.exception("a thread could not be followed", session=of.thread)
            status, lost = "idle", Rested(replied=False, text=f"The thread was lost: {error}")
        await self._submit(of, lambda projector: Look(_lost(projector, of.key, status), lost), waits=True)
        return lost

    async def _report_until_rest(self, of: ThreadOf, projection: ProjectionRecord) -> None:
        reported: ThreadReport | None = None
        tail = self._projected.tail(projection.session, projection.head)
        while True:
            self._followed[of.thread] = False
            projection = await self._projected.log.projection(of.thread)
            look, expected = await self._reader.look(of, projection), self._expected.get(of.thread)
            if expected and look.report.reached <= expected.after:
                expected = None
            if look.report != reported:
                await self._submit(of, lambda _, now=look: now, waits=expected is not None)
                reported = look.report
            self._pauses.pop(of.thread, None)
            if look.rested:
                if expected:
                    expected.resolve(look.rested)
                if not self._followed[of.thread]:
                    return
            else:
                async for chunk in tail:
                    if changes_state(chunk):
                        break
                else:  # the session is gone, or the daemon stops
                    await anyio.sleep(FIRST_PAUSE)
                    tail = self._projected.tail(projection.session, projection.head)

    async def _submit(self, of: ThreadOf, look: Callable[[Projector], Look], *, waits: bool) -> None:
        """Submits the report. A thread whose coordinator has ended is ended, too."""

        def plan(projection: Projection) -> Batch:
            projector = cast("Projector", projection)
            seen = look(projector)
            batch, over = _batch(projector, seen, waits=waits, payer=self._payers.get(of.thread))
            submitted.append((seen, over))
            return batch

        submitted: list[tuple[Look, bool]] = []
        try:
            await self._projected.submit(of.session, plan)
        except (SessionHasEnded, SessionNotFound):
            with suppress(SessionNotFound):
                await self._sessions.terminate(of.thread)
            return
        seen, over = submitted[-1]
        if seen.rested:
            self._payers.pop(of.thread, None)
        elif over:
            await self.interrupt(of)


def _lost(projector: Projector, key: str, status: Status) -> ThreadReport:
    """The last report of a thread whose session cannot be read any more."""
    if (thread := projector.threads.get(key)) is None:  # it was never begun
        return ThreadReport(key=key, reached=0, status=status)
    stop = Stop(type="retries_exhausted" if status == "idle" else "end_turn")
    return ThreadReport(
        key=key, reached=thread.reported, status=status, stop=stop, usage=thread.usage, cost_usd=thread.cost_usd
    )


def _batch(projector: Projector, look: Look, *, waits: bool, payer: EventActor | None) -> tuple[Batch, bool]:
    """The report for the coordinator's session, with what follows from it there; and whether its budget is used up."""
    report, state = look.report, projector.state
    thread = projector.threads.get(report.key)
    submission: Submission | None = None
    if thread and thread.owes and report.reply and look.rested and not waits:
        text = f"The agent {thread.name!r} (thread {thread.id}) has replied:\n\n{look.rested.text}"
        entry = InputMessage(item_id=new_id("itm_"), message=SendMessage(message=text), name=REPLY)
        submission = Submission(entries=[entry])
    limit = projector.document.limit_usd
    more = report.cost_usd - thread.cost_usd if thread else 0.0
    over = limit is not None and state.total_usd + more >= limit
    stops = over and state.turn
    batch = Batch(
        frame=msgspec.json.encode(CommandFrame(managed=report)),
        direction="daemon",
        submission=submission,
        interrupt=_INTERRUPTED if stops else None,
        stop_reason="budget" if stops else "interrupted",
        actor=payer or msgspec.UNSET,
    )
    return batch, over


def threads_of(projection: ProjectionRecord) -> dict[str, ThreadOf]:
    """The threads of a coordinator's roster, by their sessions."""
    found = ((key, thread.session or "") for key, thread in roster_of(projection).items())
    return {session: ThreadOf(session=projection.session_id, thread=session, key=key) for key, session in found}


def roster_of(projection: ProjectionRecord) -> dict[str, Thread]:
    """The threads of the roster, by their keys."""
    return {key: thread for key, thread in subagents_of(projection).items() if thread.session}
