"""Calls of a coordinator: begins threads of its roster, gives them messages and waits for their replies."""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import cast

import anyio
import msgspec
from msgspec import Struct

from everyagent.errors import BadRequest, Conflict, EveryagentError, SessionNotFound
from everyagent.log.log import SessionRecord
from everyagent.logs import get_logger
from everyagent.managed.projection.commands import CommandFrame, ThreadCalled, ThreadMessage, ThreadReport
from everyagent.managed.projection.document import ThreadOf
from everyagent.managed.projection.events import Stop
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import AT_WORK, Thread
from everyagent.managed.roster.members import MAX_AT_WORK, CallAgents, Member, Task, members_of
from everyagent.managed.roster.reports import ThreadReports, roster_of
from everyagent.managed.sessions.creation import SessionCreation
from everyagent.managed.sessions.presentation import document_of, state_of
from everyagent.model.asks import ToolAnswer
from everyagent.model.ids import new_id
from everyagent.model.parts import Json
from everyagent.model.principals import EventActor, acting_in
from everyagent.model.sessions import SendMessage
from everyagent.sessions import Sessions
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.messages import InputMessage, Submission
from everyagent.sessions.machine.projection import Projection

#: The name of a coordinator's message in the session of its thread.
_MESSAGE = "coordinator"
logger = get_logger(__name__)


class TaskResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a task, as the coordinator reads it."""

    agent: str
    reply: str | None = None
    error: str | None = None
    thread_id: str | None = None


class _Assignment(Struct, frozen=True, kw_only=True):
    """A task with its thread, whose id is that of its session; `member` is None if the thread exists."""

    key: str
    session: str
    name: str
    message: str
    member: Member | None = None


class RosterCalls:
    def __init__(self, sessions: Sessions, creating: SessionCreation, reports: ThreadReports) -> None:
        self._sessions = sessions
        self._projected = sessions.projected
        self._creating = creating
        self._reports = reports
        self._open: defaultdict[str, set[ThreadOf]] = defaultdict(set)

    async def run(self, record: SessionRecord, payer: EventActor | None, given: Json) -> ToolAnswer:
        """Runs the tool for the coordinator's session."""
        try:
            tasks = msgspec.convert(given or {}, CallAgents).tasks
        except msgspec.ValidationError as error:
            return ToolAnswer(output=f"The arguments do not fit: {error}.", is_error=True)
        with acting_in(record.workspace):
            results: dict[int, TaskResult] = {}
            async with anyio.create_task_group() as running:
                taken: set[str] = set()
                for number, task in enumerate(tasks):
                    try:
                        assignment = await self._assigned(record.session_id, task, taken)
                    except EveryagentError as error:
                        results[number] = TaskResult(agent=task.agent or "", thread_id=task.thread_id, error=str(error))
                        continue
                    taken.add(assignment.key)
                    running.start_soon(self._run, record, payer, assignment, results, number)
        found = [results[number] for number in sorted(results)]
        return ToolAnswer(
            output=msgspec.json.encode({"results": found}).decode(),
            is_error=all(result.error is not None for result in found),
        )

    async def turn_over(self, session_id: str) -> None:
        """The coordinator waits for no call of a turn that has ended."""
        for of in [*self._open.get(session_id, ())]:
            await self._reports.interrupt(of)

    async def ended(self, session_id: str, *, deleted: bool = False) -> None:
        """Ends the threads of a coordinator with it."""
        for thread in roster_of(await self._projected.log.projection(session_id)).values():
            try:
                await (self._sessions.delete if deleted else self._sessions.terminate)(thread.session or "")
            except SessionNotFound as error:
                logger.info("the session of a thread is gone", session=thread.session, why=str(error))

    # -- tasks ----------------------------------------------------------------------------------------------

    async def _assigned(self, session_id: str, task: Task, taken: set[str]) -> _Assignment:
        """`taken` are the threads of the same call."""
        projection = await self._projected.log.projection(session_id)
        threads = roster_of(projection)
        _require_room(taken | _at_work(threads))
        if (task.agent is None) == (task.thread_id is None):
            raise BadRequest("A task has either an `agent`, for a new thread, or a `thread_id`.")
        if task.agent is not None:
            members = members_of(document_of(projection).agent)
            member = next((each for each in members if each.name == task.agent), None)
            if member is None:
                named = ", ".join(each.name for each in members)
                raise BadRequest(f"There is no agent {task.agent!r}. There is: {named}.")
            key = new_id("thread_")
            session = thread_id(session_id, key)
            return _Assignment(key=key, session=session, name=member.name, message=task.message, member=member)
        key, thread = next(((key, each) for key, each in threads.items() if each.id == task.thread_id), (None, None))
        if key is None or thread is None or thread.session is None:
            raise BadRequest(f"There is no thread {task.thread_id!r}.")
        if thread.archived_at is not None:
            raise Conflict(f"The thread {thread.id} has ended. Begin another one.")
        state = state_of(await self._projected.log.projection(thread.session))
        if key in taken or state.turn or state.actions:
            raise Conflict(f"The thread {thread.id} still works on its last message.")
        return _Assignment(key=key, session=thread.session, name=thread.name, message=task.message)

    async def _run(
        self,
        record: SessionRecord,
        payer: EventActor | None,
        task: _Assignment,
        results: dict[int, TaskResult],
        number: int,
    ) -> None:
        of = ThreadOf(session=record.session_id, thread=task.session, key=task.key)
        opened = self._open[record.session_id]
        opened.add(of)
        try:
            await self._begin(record, payer, task, of)
            rested = await self._reports.rested(task.session)
        except EveryagentError as error:
            results[number] = TaskResult(agent=task.name, thread_id=task.session, error=str(error))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._stop(of)
            raise
        else:
            text = rested.text
            results[number] = TaskResult(
                agent=task.name,
                thread_id=task.session,
                reply=text if rested.replied else None,
                error=None if rested.replied else text,
            )
        finally:
            self._reports.forget(task.session)
            opened.discard(of)
            if not opened:
                self._open.pop(record.session_id, None)

    async def _stop(self, of: ThreadOf) -> None:
        """Stops a thread whose call was cancelled."""
        try:
            await self._reports.interrupt(of)
        except EveryagentError as error:
            logger.info("a thread could not be interrupted", session=of.thread, why=str(error))

    async def _begin(self, record: SessionRecord, payer: EventActor | None, task: _Assignment, of: ThreadOf) -> None:
        """Creates the thread if it is new, and gives it the message."""
        coordinator = document_of(await self._projected.log.projection(record.session_id))
        if task.member is not None:
            await self._creating.create_thread(task.session, record, of, coordinator, task.member.agent)
        called = ThreadCalled(key=task.key, session=task.session, name=task.name, message=task.message)

        def calling(projection: Projection) -> Batch:
            projector = cast("Projector", projection)
            if not projector.state.turn:
                raise Conflict("The turn of the coordinator has ended.")
            thread = projector.threads.get(task.key)
            if thread and (thread.status in AT_WORK or thread.archived_at is not None):
                raise Conflict(f"The thread {thread.id} works on another message, or has ended.")
            _require_room(_at_work(projector.threads))  # another call may have begun threads since
            return _batch(called, payer)

        try:
            await self._projected.submit(record.session_id, calling)
        except EveryagentError:
            if task.member is not None:
                await self._sessions.delete(task.session)
            raise
        try:
            entry = InputMessage(item_id=new_id("itm_"), message=SendMessage(message=task.message), name=_MESSAGE)
            message = _batch(ThreadMessage(message=task.message), payer, Submission(entries=[entry]))

            def giving(projection: Projection) -> Batch:
                state = cast("Projector", projection).state
                if state.turn or state.actions:
                    raise Conflict("The thread still works on its last message.")
                self._reports.expect(task.session, after=state.head)
                return message

            await self._projected.submit(task.session, giving)
            self._reports.follow(of, payer)
        except EveryagentError:
            await self._projected.submit(record.session_id, partial(_failed, task.key))
            raise


def _at_work(threads: Mapping[str, Thread]) -> set[str]:
    """The keys of the roster's threads that work."""
    return {key for key, thread in threads.items() if thread.session and thread.status in AT_WORK}


def _require_room(at_work: AbstractSet[str]) -> None:
    if len(at_work) >= MAX_AT_WORK:
        raise Conflict(f"No more than {MAX_AT_WORK} threads work at the same time. Wait for one of them.")


def _failed(key: str, projection: Projection) -> Batch:
    """The thread could not be given its message."""
    thread = cast("Projector", projection).threads[key]
    report = ThreadReport(
        key=key,
        reached=thread.reported,
        status="idle",
        stop=Stop(type="retries_exhausted"),
        usage=thread.usage,
        cost_usd=thread.cost_usd,
    )
    return _batch(report, None)


def _batch(
    command: ThreadCalled | ThreadMessage | ThreadReport,
    payer: EventActor | None,
    submission: Submission | None = None,
) -> Batch:
    frame = msgspec.json.encode(CommandFrame(managed=command))
    return Batch(frame=frame, direction="daemon", submission=submission, actor=payer or msgspec.UNSET)
