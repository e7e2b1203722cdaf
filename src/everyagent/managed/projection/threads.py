"""Threads of sub-agents: each has events of its own, and the session shows its status."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

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
from everyagent.managed.projection.teller import Teller
from everyagent.managed.sessions.blocks import MessageBlock, Text
from everyagent.managed.sessions.client_events import UserInterrupt

_Simple: TypeAlias = ThreadCreated | ThreadRunning | ThreadRescheduled | ThreadTerminated
#: The arguments in which agents give a sub-agent's name and its prompt.
_NAMES = ("subagent_type", "agent", "name", "description")
_PROMPTS = ("prompt", "message", "task", "description")


class SubagentThreads:
    """`kept` are all threads as the document has them, by item id."""

    def __init__(self, teller: Teller, spans: Spans, kept: Mapping[str, Thread]) -> None:
        self._teller = teller
        self._spans = spans
        self.kept = kept

    def of(self, item_id: str, call: Use | None, *, begins: bool = False) -> Thread:
        """The thread of the sub-agent that a call started, created if it is new.

        A thread at rest runs again when something `begins` on it. Items that were cut off may end after it.
        """
        teller, state = self._teller, self._teller.state
        thread = self._find(item_id)
        if thread is None:
            thread = state.threads[item_id] = Thread(
                id=thread_id(teller.session_id, item_id),
                name=_first(call, _NAMES) or "sub-agent",
                parent=call.thread if call else None,
                status="idle",
                created_at=teller.at,
                updated_at=teller.at,
            )
            teller.tell(self._made(ThreadCreated, thread))
            self._hand_over(thread, call)
            begins = True
        if thread.status == "rescheduling" or (begins and thread.status == "idle"):
            thread.status = "running"
            thread.updated_at = teller.at
            self._tell(ThreadRunning, thread)
            self._spans.open(thread)
        return thread

    def called(self, id: str | None) -> None:
        """A tool was called on the thread."""
        self._spans.called(self._known(id))

    def returned(self, id: str | None) -> None:
        """A call on the thread has its result."""
        thread = self._known(id)
        if thread.status == "running" if thread else self._teller.state.turn:
            self._spans.go_on(thread)

    def _known(self, id: str | None) -> Thread | None:
        known = (
            (item_id, each) for threads in (self._teller.state.threads, self.kept) for item_id, each in threads.items()
        )
        return next((self._find(item_id) for item_id, each in known if each.id == id), None) if id else None

    def _find(self, item_id: str) -> Thread | None:
        """The thread in the state, where it may change; one at rest is copied back from the document."""
        threads = self._teller.state.threads
        if item_id not in threads and item_id in self.kept:
            threads[item_id] = replace(self.kept[item_id])
        return threads.get(item_id)

    def reschedule(self, thread: Thread) -> None:
        """The sub-agent retries."""
        self._spans.close(None, failed=True, on=thread)
        thread.status, thread.updated_at = "rescheduling", self._teller.at
        self._tell(ThreadRescheduled, thread)

    def finish(self, item_id: str, result: str) -> None:
        """The call that started the thread has its result."""
        teller = self._teller
        thread = teller.state.threads.get(item_id)
        if thread is None or thread.status not in AT_WORK:
            return
        self._spans.close(None, failed=False, on=thread)
        content: list[MessageBlock] = [Text(text=result)] if result else []
        if content:
            parent = thread.parent or thread_id(teller.session_id)
            sent = event_id(teller.session_id, "sent", item_id, teller.state.head)
            teller.tell_thread(
                thread.id,
                ThreadMessageSent(id=sent, processed_at=teller.time, to_session_thread_id=parent, content=content),
            )
            received = ThreadMessageReceived(
                id=teller.new_id(),
                processed_at=teller.time,
                from_session_thread_id=thread.id,
                from_agent_name=thread.name,
                content=content,
            )
            self.tell_on(thread.parent, received)
        self._rest(thread)

    def interrupted(self, event: UserInterrupt) -> bool:
        """Shows an interrupt of one sub-agent on its thread. False: the event is for the whole session."""
        known = self._known(event.session_thread_id)
        if known is None:
            return False
        shown = replace(event, processed_at=self._teller.time, session_thread_id=None)
        self._teller.tell_thread(known.id, shown)
        return True

    def rest(self) -> None:
        """The turn ended, and the work of its sub-agents with it."""
        for thread in self._teller.state.threads.values():
            if thread.status in AT_WORK:
                self._rest(thread)

    def archive(self, thread_id: str) -> None:
        """Archives a thread."""
        thread = self._known(thread_id)
        if thread and thread.archived_at is None:
            thread.status, thread.archived_at = "terminated", self._teller.at
            self._tell(ThreadTerminated, thread)

    def tell_on(self, thread: str | None, event: ManagedEvent) -> None:
        """Adds an event to a sub-agent's thread, or to the session's own."""
        if thread:
            self._teller.tell_thread(thread, event)
        else:
            self._teller.tell(event)

    def _rest(self, thread: Thread) -> None:
        teller = self._teller
        self._spans.close(None, failed=False, on=thread)
        thread.status = "idle"
        thread.updated_at = teller.at
        self._tell_both(
            thread,
            ThreadIdle(
                id=teller.new_id(),
                processed_at=teller.time,
                session_thread_id=thread.id,
                agent_name=thread.name,
                stop_reason=Stop(type="end_turn"),
            ),
        )

    def _tell(self, kind: type[_Simple], thread: Thread) -> None:
        self._tell_both(thread, self._made(kind, thread))

    def _made(self, kind: type[_Simple], thread: Thread) -> _Simple:
        id, time = self._teller.new_id(), self._teller.time
        return kind(id=id, processed_at=time, session_thread_id=thread.id, agent_name=thread.name)

    def _tell_both(self, thread: Thread, event: ManagedEvent) -> None:
        """Adds a status event to the thread and to the session."""
        self._teller.tell(event)
        self._teller.tell_thread(thread.id, event)

    def _hand_over(self, thread: Thread, call: Use | None) -> None:
        """Shows the prompt on the parent's thread and on its own."""
        prompt = _first(call, _PROMPTS)
        if not prompt:
            return
        teller = self._teller
        content: list[MessageBlock] = [Text(text=prompt)]
        sent = ThreadMessageSent(
            id=teller.new_id(),
            processed_at=teller.time,
            to_session_thread_id=thread.id,
            to_agent_name=thread.name,
            content=content,
        )
        self.tell_on(thread.parent, sent)
        teller.tell_thread(
            thread.id,
            ThreadMessageReceived(
                id=event_id(teller.session_id, "received", thread.id, teller.state.head),
                processed_at=teller.time,
                from_session_thread_id=thread.parent or thread_id(teller.session_id),
                content=content,
            ),
        )


def _first(call: Use | None, names: Sequence[str]) -> str | None:
    values = (call.input.get(name) for name in names) if call else ()
    return next((value for value in values if isinstance(value, str) and value), None)
