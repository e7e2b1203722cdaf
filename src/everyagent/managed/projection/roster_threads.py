"""Threads of a roster: each is a session of its own, whose state is reported to the one of its coordinator."""

from everyagent.managed.projection.actions import Actions
from everyagent.managed.projection.commands import ThreadCalled, ThreadMessage, ThreadReport
from everyagent.managed.projection.document import SessionDocument
from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import (
    ThreadCreated,
    ThreadIdle,
    ThreadMessageReceived,
    ThreadMessageSent,
    ThreadRescheduled,
    ThreadRunning,
    ThreadTerminated,
)
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.state import AT_WORK, Status, Thread
from everyagent.managed.projection.statuses import Statuses
from everyagent.managed.projection.threads import SubagentThreads
from everyagent.managed.projection.turns import Turns
from everyagent.managed.sessions.blocks import Text
from everyagent.model.events import TurnEnded
from everyagent.model.usage import Usage


class RosterThreads:
    """`called` and `report` are for the coordinator's session, `receive` and `reply` for that of a thread."""

    def __init__(
        self, emitter: Emitter, threads: SubagentThreads, statuses: Statuses, actions: Actions, turns: Turns
    ) -> None:
        self._emitter = emitter
        self._threads = threads
        self._statuses = statuses
        self._actions = actions
        self._turns = turns

    def called(self, command: ThreadCalled) -> None:
        emitter, thread = self._emitter, self._threads.find(command.key)
        if thread is None:
            thread = emitter.state.threads[command.key] = Thread(
                id=thread_id(emitter.session_id, command.key),
                name=command.name,
                parent=None,
                status="idle",
                created_at=emitter.at,
                updated_at=emitter.at,
                session=command.session,
            )
            self._emit(ThreadCreated, thread)
        thread.owes = thread.awaited = True
        emitter.emit(
            ThreadMessageSent(
                id=emitter.new_id(),
                processed_at=emitter.time,
                to_session_thread_id=thread.id,
                to_agent_name=thread.name,
                content=[Text(text=command.message)],
            )
        )
        self._change(thread, "running")

    def receive(self, command: ThreadMessage, document: SessionDocument) -> None:
        """The coordinator's message, in the thread."""
        emitter = self._emitter
        if document.thread_of is not None:
            emitter.emit(
                ThreadMessageReceived(
                    id=emitter.new_id(),
                    processed_at=emitter.time,
                    from_session_thread_id=thread_id(document.thread_of.session),
                    content=[Text(text=command.message)],
                )
            )

    def reply(self, ended: TurnEnded, document: SessionDocument) -> None:
        """The last message of a turn of the thread is its reply to the coordinator."""
        emitter, state = self._emitter, self._emitter.state
        text, state.last_text = state.last_text, ""
        if document.thread_of is not None and text and ended.stop_reason == "end_turn":
            emitter.emit(
                ThreadMessageSent(
                    id=emitter.new_id(),
                    processed_at=emitter.time,
                    to_session_thread_id=thread_id(document.thread_of.session),
                    content=[Text(text=text)],
                )
            )

    def report(self, report: ThreadReport) -> None:
        emitter, state, thread = self._emitter, self._emitter.state, self._threads.find(report.key)
        if thread is None or report.reached < thread.reported:
            return
        asked = self._asks(thread)
        thread.reported, thread.updated_at = report.reached, emitter.at
        self._count(thread, report)
        if thread.archived_at is not None:
            return
        if report.status == "terminated" and thread.status != "terminated":
            rested = thread.status not in AT_WORK and not asked
            self._actions.follow(thread, report)
            self._change(thread, "terminated")
            if rested:
                return
        elif not thread.owes or not self._show(thread, report, asked):  # or it stops, after its coordinator's turn
            return
        if state.turn or state.actions:
            return
        if state.roster_at_work:
            self._statuses.run()
        else:
            self._turns.done()

    def _show(self, thread: Thread, report: ThreadReport, asked: list[str]) -> bool:
        """Shows what changed, since `asked` was required. Returns whether the status did."""
        emitter = self._emitter
        self._actions.follow(thread, report)
        if report.reply:
            emitter.emit(
                ThreadMessageReceived(
                    id=emitter.new_id(),
                    processed_at=emitter.time,
                    from_session_thread_id=thread.id,
                    from_agent_name=thread.name,
                    content=report.reply,
                )
            )
        if report.status not in AT_WORK and not report.asks:
            thread.owes = thread.awaited = False
        if report.status in AT_WORK and report.status != thread.status:
            self._change(thread, report.status)
            return True
        if report.status == "idle" and (thread.status != "idle" or self._asks(thread) != asked):
            self._rest(thread, report)
            return True
        return False

    def _asks(self, thread: Thread) -> list[str]:
        return [event for event, action in self._emitter.state.actions.items() if action.session == thread.session]

    def _count(self, thread: Thread, report: ThreadReport) -> None:
        state = self._emitter.state
        state.roster_usage += _more(report.usage, thread.usage)
        state.roster_cost_usd += report.cost_usd - thread.cost_usd
        thread.usage, thread.cost_usd = report.usage, report.cost_usd
        self._turns.check_budget()

    def _change(self, thread: Thread, status: Status) -> None:
        thread.status, thread.updated_at = status, self._emitter.at
        match status:
            case "running":
                self._emit(ThreadRunning, thread)
            case "rescheduling":
                self._emit(ThreadRescheduled, thread)
            case _:
                self._emit(ThreadTerminated, thread)

    def _rest(self, thread: Thread, report: ThreadReport) -> None:
        emitter = self._emitter
        thread.status = "idle"
        emitter.emit(
            ThreadIdle(
                id=emitter.new_id(),
                processed_at=emitter.time,
                session_thread_id=thread.id,
                agent_name=thread.name,
                stop_reason=report.stop,
            )
        )

    def _emit(
        self, kind: type[ThreadCreated | ThreadRunning | ThreadRescheduled | ThreadTerminated], thread: Thread
    ) -> None:
        made, time = self._emitter.new_id(), self._emitter.time
        self._emitter.emit(kind(id=made, processed_at=time, session_thread_id=thread.id, agent_name=thread.name))


def _more(now: Usage, before: Usage) -> Usage:
    return Usage(**{name: getattr(now, name) - getattr(before, name) for name in Usage.__struct_fields__})
