"""Threads of sub-agents: each has separate events, and the session shows its status."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import (
    ManagedEvent,
    Stop,
    ThreadCreated,
    ThreadIdle,
    ThreadMessageReceived,
    ThreadMessageSent,
    ThreadRescheduled,
    ThreadRunning,
    ThreadTerminated,
)
from everyagent.managed.projection.naming import event_id, thread_id
from everyagent.managed.projection.spans import Spans
from everyagent.managed.projection.state import AT_WORK, Thread, Use
from everyagent.managed.sessions.blocks import MessageBlock, Text
from everyagent.managed.sessions.client_events import UserInterrupt

_Simple: TypeAlias = ThreadCreated | ThreadRunning | ThreadRescheduled | ThreadTerminated
#: The arguments in which agents give a sub-agent's name and its prompt.
_NAMES = ("subagent_type", "agent", "name", "description")
_PROMPTS = ("prompt", "message", "task", "description")


class SubagentThreads:
    """`kept` are all threads as the document has them, by item id."""

    def __init__(self, emitter: Emitter, spans: Spans, kept: Mapping[str, Thread]) -> None:
        self._emitter = emitter
        self._spans = spans
        self.kept = kept

    def of(self, item_id: str, call: Use | None, *, begins: bool = False) -> Thread:
        """The thread of the sub-agent that a call started, created if it is new.

        A thread at rest runs again when something `begins` on it. Items that were cut off may end after it.
        """
        emitter, state = self._emitter, self._emitter.state
        thread = self.find(item_id)
        if thread is None:
            thread = state.threads[item_id] = Thread(
                id=thread_id(emitter.session_id, item_id),
                name=_first(call, _NAMES) or "sub-agent",
                parent=call.thread if call else None,
                status="idle",
                created_at=emitter.at,
                updated_at=emitter.at,
            )
            emitter.emit(self._made(ThreadCreated, thread))
            self._hand_over(thread, call)
            begins = True
        if thread.status == "rescheduling" or (begins and thread.status == "idle"):
            thread.status = "running"
            thread.updated_at = emitter.at
            self._emit(ThreadRunning, thread)
            self._spans.open(thread)
        return thread

    def called(self, id: str | None) -> None:
        """A tool was called on the thread."""
        self._spans.called(self.known(id))

    def returned(self, id: str | None) -> None:
        """A call on the thread has its result."""
        thread = self.known(id)
        if thread.status == "running" if thread else self._emitter.state.turn:
            self._spans.go_on(thread)

    def known(self, id: str | None) -> Thread | None:
        known = (
            (item_id, each) for threads in (self._emitter.state.threads, self.kept) for item_id, each in threads.items()
        )
        return next((self.find(item_id) for item_id, each in known if each.id == id), None) if id else None

    def find(self, item_id: str) -> Thread | None:
        """The thread in the state, where it may change; one at rest is copied back from the document."""
        threads = self._emitter.state.threads
        if item_id not in threads and item_id in self.kept:
            threads[item_id] = replace(self.kept[item_id])
        return threads.get(item_id)

    def reschedule(self, thread: Thread) -> None:
        """The sub-agent retries."""
        self._spans.close(None, failed=True, on=thread)
        thread.status, thread.updated_at = "rescheduling", self._emitter.at
        self._emit(ThreadRescheduled, thread)

    def finish(self, item_id: str, result: str) -> None:
        """The call that started the thread has its result."""
        emitter = self._emitter
        thread = emitter.state.threads.get(item_id)
        if thread is None or thread.status not in AT_WORK:
            return
        self._spans.close(None, failed=False, on=thread)
        content: list[MessageBlock] = [Text(text=result)] if result else []
        if content:
            parent = thread.parent or thread_id(emitter.session_id)
            sent = event_id(emitter.session_id, "sent", item_id, emitter.state.head)
            emitter.emit_on_thread(
                thread.id,
                ThreadMessageSent(id=sent, processed_at=emitter.time, to_session_thread_id=parent, content=content),
            )
            received = ThreadMessageReceived(
                id=emitter.new_id(),
                processed_at=emitter.time,
                from_session_thread_id=thread.id,
                from_agent_name=thread.name,
                content=content,
            )
            self.emit_on(thread.parent, received)
        self._rest(thread)

    def interrupted(self, event: UserInterrupt) -> bool:
        """Shows an interrupt of one sub-agent on its thread. False: the event is for the whole session."""
        known = self.known(event.session_thread_id)
        if known is None:
            return False
        if known.session:
            return True
        shown = replace(event, processed_at=self._emitter.time, session_thread_id=None)
        self._emitter.emit_on_thread(known.id, shown)
        return True

    def rest(self) -> None:
        """The turn ended, and the work of its sub-agents with it; a thread of the roster may not belong to it."""
        state = self._emitter.state
        for asking in {action.thread for action in state.actions.values() if action.session}:
            if thread := self.known(asking):
                thread.awaited = False
        for thread in state.threads.values():
            if thread.status in AT_WORK and (thread.awaited or not thread.session):
                thread.awaited = thread.owes = False
                self._rest(thread)

    def archive(self, thread_id: str) -> None:
        """Archives a thread."""
        thread = self.known(thread_id)
        if thread and thread.archived_at is None:
            thread.status, thread.archived_at = "terminated", self._emitter.at
            self._emit(ThreadTerminated, thread)

    def emit_on(self, thread: str | None, event: ManagedEvent) -> None:
        """Adds an event to a sub-agent's thread, or to the session's own."""
        if thread:
            self._emitter.emit_on_thread(thread, event)
        else:
            self._emitter.emit(event)

    def _rest(self, thread: Thread) -> None:
        emitter = self._emitter
        self._spans.close(None, failed=False, on=thread)
        thread.status = "idle"
        thread.updated_at = emitter.at
        self._emit_both(
            thread,
            ThreadIdle(
                id=emitter.new_id(),
                processed_at=emitter.time,
                session_thread_id=thread.id,
                agent_name=thread.name,
                stop_reason=Stop(type="end_turn"),
            ),
        )

    def _emit(self, kind: type[_Simple], thread: Thread) -> None:
        self._emit_both(thread, self._made(kind, thread))

    def _made(self, kind: type[_Simple], thread: Thread) -> _Simple:
        id, time = self._emitter.new_id(), self._emitter.time
        return kind(id=id, processed_at=time, session_thread_id=thread.id, agent_name=thread.name)

    def _emit_both(self, thread: Thread, event: ManagedEvent) -> None:
        """Adds a status event to the thread and to the session. A session of its own has its events itself."""
        self._emitter.emit(event)
        if not thread.session:
            self._emitter.emit_on_thread(thread.id, event)

    def _hand_over(self, thread: Thread, call: Use | None) -> None:
        """Shows the prompt on the parent's thread and on its own."""
        prompt = _first(call, _PROMPTS)
        if not prompt:
            return
        emitter = self._emitter
        content: list[MessageBlock] = [Text(text=prompt)]
        sent = ThreadMessageSent(
            id=emitter.new_id(),
            processed_at=emitter.time,
            to_session_thread_id=thread.id,
            to_agent_name=thread.name,
            content=content,
        )
        self.emit_on(thread.parent, sent)
        emitter.emit_on_thread(
            thread.id,
            ThreadMessageReceived(
                id=event_id(emitter.session_id, "received", thread.id, emitter.state.head),
                processed_at=emitter.time,
                from_session_thread_id=thread.parent or thread_id(emitter.session_id),
                content=content,
            ),
        )


def _first(call: Use | None, names: Sequence[str]) -> str | None:
    values = (call.input.get(name) for name in names) if call else ()
    return next((value for value in values if isinstance(value, str) and value), None)
