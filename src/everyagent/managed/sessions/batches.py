"""Plans a batch of client events as one atomic step, checked against the session's current state."""

from collections.abc import Callable, Collection, Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.log.log import Receipt
from everyagent.managed.projection.actions import digest_of
from everyagent.managed.projection.commands import CommandFrame, Sent, SentEvent
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import Action
from everyagent.managed.sessions.answers import answer_to
from everyagent.managed.sessions.client_events import (
    ClientEvent,
    SystemMessage,
    UserCustomToolResult,
    UserDefineOutcome,
    UserInterrupt,
    UserMessage,
    UserToolConfirmation,
    UserToolResult,
    type_of,
)
from everyagent.managed.sessions.prompts import ToolOutput, system_text
from everyagent.model.asks import Answer, ToolAnswer
from everyagent.model.ids import new_id
from everyagent.model.sessions import SendMessage
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.messages import InputMessage, Submission, marked_instructions

#: The event that answers each kind of action.
_ANSWERED_BY: dict[str, type[ClientEvent]] = {
    "confirmation": UserToolConfirmation,
    "custom": UserCustomToolResult,
    "question": UserCustomToolResult,
    "result": UserToolResult,
}


class PreparedEvent(msgspec.Struct, frozen=True):
    """A client's event, with the agent's message if it is a prompt, or with its result."""

    event: ClientEvent
    message: SendMessage | None = None
    result: ToolOutput | None = None


def with_ids(events: Sequence[ClientEvent]) -> list[ClientEvent]:
    """The events with new ids."""
    return [
        replace(event, id=new_id("sevt_"), outcome_id=new_id("outc_"))
        if isinstance(event, UserDefineOutcome)
        else replace(event, id=new_id("sevt_"))
        for event in events
    ]


def check_order(events: Sequence[ClientEvent]) -> None:
    """Checks the rules for batches that do not depend on the session."""
    if not events:
        raise BadRequest("`events` is empty. Send at least one event.", field="events")
    for index, event in enumerate(events):
        if isinstance(event, SystemMessage):
            before = events[index - 1] if index else None
            if index != len(events) - 1 or not isinstance(before, UserMessage | UserToolResult | UserCustomToolResult):
                raise BadRequest(
                    "`system.message` must be the last event, and directly follow a `user.message`, a "
                    "`user.tool_result` or a `user.custom_tool_result`.",
                    field=f"events[{index}]",
                )
        if isinstance(event, UserToolConfirmation) and event.deny_message is not None and event.result == "allow":
            raise BadRequest("`deny_message` goes with `deny` only.", field=f"events[{index}].deny_message")


class Planner:
    """Makes one batch. `projection` is the session's projection just before the step.

    `earlier` are uses to which the session got the same answers before it forgot them.
    """

    def __init__(self, projection: Projector, session_id: str, earlier: Collection[str] = ()) -> None:
        self._projection = projection
        self._earlier = earlier
        self._session_id = session_id
        self._sent: list[SentEvent] = []
        self._entries: list[InputMessage] = []
        self._answers: dict[str, tuple[str, Answer]] = {}
        self._early: dict[str, Answer] = {}
        self._confirmed: set[str] = set()
        self._of_threads: set[str] = set()
        self._interrupt = False
        self._subagents: list[str] = []

    def plan(self, prepared: Sequence[PreparedEvent], receipt: Callable[[], Receipt | None]) -> Batch:
        for index, each in enumerate(prepared):
            self._add(index, each)
        queued = [sent for sent in self._sent if sent.item]
        return Batch(
            frame=_encoded(Sent(events=self._sent)),
            interrupt="The turn was interrupted." if self._interrupt else None,
            subagents=self._subagents,
            answers=[answer for answer in self._answers.values() if answer[0]],
            early=self._early,
            submission=_submission(self._entries, queued) if self._entries else None,
            receipt=receipt,
        )

    def _add(self, index: int, prepared: PreparedEvent) -> None:
        event = prepared.event
        match event:
            case UserMessage() | UserDefineOutcome():
                self._refuse_over_budget()
                entry = InputMessage(item_id=new_id("itm_"), message=prepared.message or SendMessage(message=""))
                self._entries.append(entry)
                self._sent.append(SentEvent(event=event, item=entry.item_id))
            case UserInterrupt():
                alone = self._thread(event, index)
                if alone is None:
                    self._interrupt = True
                elif not self._projection.threads[alone].session:
                    self._subagents.append(alone)
                self._sent.append(SentEvent(event=event))
            case UserToolConfirmation() | UserToolResult():
                self._answer(index, event, event.tool_use_id, prepared.result)
            case UserCustomToolResult():
                self._answer(index, event, event.custom_tool_use_id, prepared.result)
            case SystemMessage():
                self._privileged(event)
            case _:
                assert_never(event)

    def _answer(
        self,
        index: int,
        event: UserToolConfirmation | UserCustomToolResult | UserToolResult,
        use_id: str,
        result: ToolOutput | None,
    ) -> None:
        state = self._projection.state
        action = state.actions.get(use_id)
        if self._is_repeated(event, use_id, action):
            self._sent.append(SentEvent(event=event, repeated=True))
            return
        if action is not None and use_id in self._confirmed:
            action = replace(action, unconfirmed=False)
        if action is None or not isinstance(event, _answered_by(action)):
            raise BadRequest(_not_open(event, use_id, action), field=f"events[{index}]")
        if use_id in self._answers:
            raise BadRequest(f"{use_id} is answered twice in this request.", field=f"events[{index}]")
        stored = replace(event, session_thread_id=action.thread)
        if action.unconfirmed and isinstance(event, UserToolConfirmation) and event.result == "allow":
            self._confirmed.add(use_id)
            self._sent.append(SentEvent(event=stored, confirms=use_id))
            return
        self._answers[use_id] = ("" if action.session else action.ask_id, answer_to(action, event, result))
        if action.item and not action.ask_id:
            self._early[action.item] = self._answers[use_id][1]
        if action.session:
            self._of_threads.add(use_id)
        self._sent.append(SentEvent(event=stored, answers=use_id))

    def _is_repeated(self, event: ClientEvent, use_id: str, action: Action | None) -> bool:
        """Whether the session got the same answer before. A thread of the roster gets its answers first."""
        state = self._projection.state
        if isinstance(event, UserToolConfirmation) and event.result == "allow":
            of_thread = action and action.session and action.kind == "result" and not action.unconfirmed
            if of_thread or use_id in state.confirmed:
                return True
        return action is None and (use_id in self._earlier or state.answers.get(use_id) == digest_of(event))

    def _privileged(self, event: SystemMessage) -> None:
        """Adds instructions to the turn of the message before it, or their text to the answer before it."""
        if any(use_id not in self._answers for use_id in self._projection.state.actions):
            raise BadRequest("`system.message` must wait: the session requires other actions first.", field="events")
        before, text = self._sent[-1], system_text(event)
        if before.item:
            message = SendMessage(message=text)
            self._entries.append(InputMessage(item_id=new_id("itm_"), message=message, role="system"))
        elif before.answers in self._of_threads:
            raise BadRequest(
                "`system.message` is for the session's own agent, not for that of a thread.", field="events"
            )
        elif before.answers:
            ask_id, answer = self._answers[before.answers]
            if isinstance(answer, ToolAnswer):
                answer = replace(answer, output=f"{answer.output or ''}\n\n{marked_instructions(text)}")
            self._answers[before.answers] = (ask_id, answer)
        self._sent.append(SentEvent(event=event, item=before.item))

    def _refuse_over_budget(self) -> None:
        if self._projection.state.over_budget:
            raise BadRequest(
                "The session has reached its budget. Raise `budget` with sessions.update, then send it again.",
                field="events",
                error_code="budget_reached",
            )

    def _thread(self, event: UserInterrupt, index: int) -> str | None:
        """The key of the thread to stop; None to stop the whole session."""
        thread = event.session_thread_id
        if thread is None or thread == thread_id(self._session_id):
            return None
        for item_id, known in self._projection.threads.items():
            if known.id == thread:
                return item_id
        raise BadRequest(f"The session has no thread {thread!r}.", field=f"events[{index}].session_thread_id")


def _not_open(event: ClientEvent, use_id: str, action: Action | None) -> str:
    if action is None:
        return f"No action of this session waits for an answer to {use_id!r}. It may have been answered before."
    return f"{use_id!r} is answered by `{_answered_by(action).__struct_config__.tag}`, not by `{type_of(event)}`."


def _answered_by(action: Action) -> type[ClientEvent]:
    return UserToolConfirmation if action.unconfirmed else _ANSWERED_BY[action.kind]


def _submission(entries: list[InputMessage], sent: list[SentEvent]) -> Submission:
    managed = msgspec.Raw(msgspec.json.encode(Sent(events=sent))) if sent else None
    return Submission(entries=entries, managed=managed)


def _encoded(sent: Sent) -> bytes:
    return msgspec.json.encode(CommandFrame(managed=sent))
