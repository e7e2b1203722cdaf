"""The Managed Agents projection of a session: a pure function of its frames and events, computed frame by frame.

Events are emitted at once, except those that depend on the rest of the frame: these are emitted by `settle`.
"""

from typing import assert_never, cast

import msgspec
from msgspec.structs import replace

from everyagent.log.log import FrameDirection
from everyagent.log.projections import ProjectionStep
from everyagent.managed.projection.actions import Actions
from everyagent.managed.projection.commands import (
    Archived,
    Command,
    CommandFrame,
    Evaluated,
    Evaluating,
    Sent,
    SentEvent,
    SessionChanged,
    ThreadArchived,
    ThreadCalled,
    ThreadMessage,
    ThreadReport,
    Troubled,
)
from everyagent.managed.projection.document import SessionDocument, settle
from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import (
    AgentMessage,
    AgentThinking,
    ContextCompacted,
    ManagedEvent,
    ManagedSessionUpdated,
)
from everyagent.managed.projection.naming import event_id
from everyagent.managed.projection.outcomes import Outcomes
from everyagent.managed.projection.roster_threads import RosterThreads
from everyagent.managed.projection.spans import Spans
from everyagent.managed.projection.state import State, Thread
from everyagent.managed.projection.statuses import Statuses
from everyagent.managed.projection.threads import SubagentThreads
from everyagent.managed.projection.tools import Tools
from everyagent.managed.projection.turns import Turns
from everyagent.managed.sessions.blocks import Base64Source, Image, MessageBlock, Redacted, Text
from everyagent.managed.sessions.client_events import UserDefineOutcome, UserInterrupt, UserMessage
from everyagent.model import events as universal
from everyagent.model.events import EventData
from everyagent.model.items import Item
from everyagent.model.parts import ImagePart, Object, ReasoningPart, StatusPart, TextPart, ToolCallPart

_frames = msgspec.json.Decoder(CommandFrame)


class Projector:
    """The `Projection` of a managed session."""

    def __init__(self, session_id: str, stored: bytes, document: bytes) -> None:
        self._emitter = emitter = Emitter(session_id, stored)
        state = emitter.state
        state.actions = {event: action for event, action in state.actions.items() if not action.parked}
        self._document = self._kept = msgspec.json.decode(document, type=SessionDocument)
        spans = Spans(emitter)
        self._threads = SubagentThreads(emitter, spans, self._document.threads)
        self._tools = Tools(emitter, self._threads, self._document)
        self._statuses = Statuses(emitter, self._document)
        self._actions = Actions(emitter, self._tools, self._statuses)
        self._outcomes = Outcomes(emitter)
        self._turns = Turns(emitter, self._statuses, self._tools, self._threads, self._outcomes, spans)
        self._roster = RosterThreads(emitter, self._threads, self._statuses, self._actions, self._turns)
        self._arriving: list[SentEvent] = []
        self._updates: dict[str, object] = {}
        self._archived_at: int | None = None

    # -- state ----------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._emitter.state

    @property
    def document(self) -> SessionDocument:
        return self._document

    @property
    def threads(self) -> dict[str, Thread]:
        """All threads of sub-agents, by the item id of the call that started each."""
        return {**self._document.threads, **self._emitter.state.threads}

    @property
    def echoes(self) -> dict[str, bytes]:
        """The client's events of the latest frame as they were emitted, by id."""
        return self._emitter.echoes

    @property
    def blocked(self) -> bool:
        state = self._emitter.state
        return state.over_budget or (state.outcome is not None and state.outcome.evaluating is not None)

    @property
    def overspent(self) -> bool:
        return self._emitter.state.turn and self._emitter.state.over_budget

    # -- frames ---------------------------------------------------------------------------------------------

    def begin_frame(self, direction: FrameDirection, body: bytes, at: int) -> None:
        self._emitter.begin(at)
        self._actions.answered = set()
        if direction not in ("from_client", "daemon"):
            return
        try:
            frame = _frames.decode(body)
        except msgspec.DecodeError:
            return
        if frame.managed is not None:
            self._emitter.dirty = True
            self._emitter.echoes = {}
            self._obey(frame.managed)

    def _obey(self, command: Command) -> None:
        match command:
            case Sent():
                for sent in command.events:
                    self._sent(sent)
            case SessionChanged():
                self._changed(command)
            case Archived():
                self._archived_at = self._emitter.at
            case ThreadArchived():
                self._threads.archive(command.thread)
            case Troubled():
                for error in command.errors:
                    self._statuses.emit_error(error)
            case Evaluating():
                self._outcomes.go_on(command.judge)
            case Evaluated():
                if not self._outcomes.judged(command):
                    self._turns.check_budget()
                    self._turns.done()
                elif command.item:
                    self.state.taken.append(command.item)
            case ThreadCalled():
                self._roster.called(command)
            case ThreadMessage():
                self._roster.receive(command, self._document)
            case ThreadReport():
                self._roster.report(command)
            case _:
                assert_never(command)

    def _sent(self, sent: SentEvent) -> None:
        """Takes a client's event. One of a message is emitted once it is known whether the message is queued."""
        if sent.item:
            self._arriving.append(sent)
            return
        if sent.repeated:
            self._emitter.repeat(sent.event)
            return
        self._emitter.echo(sent.event, processed=True)
        if sent.answers:
            self._actions.take_answer(sent.answers, sent.event)
        if sent.confirms:
            self._actions.confirm(sent.confirms)
        if isinstance(sent.event, UserInterrupt) and not self._threads.interrupted(sent.event):
            self._interrupted()

    def _interrupted(self) -> None:
        state = self._emitter.state
        state.stopping = state.turn
        of_threads = any(action.session for action in state.actions.values())  # they are withdrawn there
        parked = bool(state.actions) and not state.turn
        evaluated = state.outcome is not None and state.outcome.evaluating is not None
        if parked:
            state.grants = []
        if evaluated:
            self._outcomes.leave("interrupted", "The session was interrupted.")
        if (parked or evaluated) and not of_threads:
            self._turns.done()

    def _changed(self, command: SessionChanged) -> None:
        document = self._document
        if command.agent is not msgspec.UNSET:
            document = replace(document, agent=cast("Object", command.agent))
            self._updates["agent"] = command.agent
        if command.budget is not msgspec.UNSET:
            document = replace(document, budget=cast("Object | None", command.budget))
            self._updates["budget"] = command.budget
        if command.vault_ids is not msgspec.UNSET:  # no field of `session.updated`
            document = replace(document, vault_ids=command.vault_ids)
        self._set_document(document)
        self._turns.check_budget()

    def _set_document(self, document: SessionDocument) -> None:
        self._document = self._tools.document = document
        self._threads.kept = document.threads

    # -- events ---------------------------------------------------------------------------------------------

    def event(self, data: EventData) -> None:
        self._emitter.dirty = True
        match data:
            case universal.ItemStarted():
                self._turns.go_on()
                thread = self._thread(data.item.subagent, begins=data.item.kind in ("message", "tool_call"))
                if data.item.kind == "message" and data.item.role == "assistant":
                    self._turns.speak(thread)
                self._follow_input(data.item)
            case universal.ItemCompleted():
                if data.item.status != "failed" and data.item.role != "user":  # a crash closes what was open
                    self._turns.go_on()
                self._item(data.item)
            case universal.TurnStarted():
                self._begin(data)
            case universal.ModelResponded():
                self._turns.go_on()
                self._turns.responded(data, self._thread(data.subagent))
            case universal.TurnEnded():
                self.state.calling = []
                self._actions.withdraw(turn_over=True)
                self._roster.reply(data, self._document)
                self._turns.end(data)
                if self.state.actions:
                    self._actions.outlive()
            case universal.PermissionRequested() | universal.QuestionRequested() | universal.ToolRequested():
                self._turns.go_on()
                self._actions.asked(data)
            case universal.PermissionResolved() | universal.QuestionResolved() | universal.ToolResolved():
                self._actions.resolved(data)
            case universal.Error():
                self._turns.error(data, self._thread(data.subagent))
            case universal.SessionUpdated():
                self._updated(data)
            case universal.SessionEnded():
                self._turns.end_session(data)
            case universal.SessionStarted() | universal.ItemDelta() | universal.Unparsed():
                return
            case _:
                assert_never(data)

    def _begin(self, data: universal.TurnStarted) -> None:
        state = self._emitter.state
        for sent in self._arriving:
            if sent.item in data.input_item_ids:
                self._take_up(sent)
                state.taken.append(sent.item)
        self._arriving = [sent for sent in self._arriving if sent.item not in data.input_item_ids]
        for item in data.input_item_ids:
            state.queued.pop(item, None)
        self._turns.start()

    def _take_up(self, sent: SentEvent) -> None:
        item = sent.item or ""
        waited = self._emitter.state.queued.get(item, [])
        if isinstance(sent.event, UserDefineOutcome):
            self._outcomes.define(sent.event, item)
            if waited:
                waited.pop(0)
                return
        self._emitter.echo(sent.event, processed=True, again=waited[:1])
        del waited[:1]

    def _item(self, item: Item) -> None:
        match item.kind:
            case "message":
                self._message(item)
            case "tool_call":
                self.state.calling = [each for each in self.state.calling if each != item.item_id]
                self._tools.call(item)
            case "tool_result":
                self._tools.result(item)
                self._actions.withdraw()
            case "status":
                if item.name == "compaction" and not _beginning(item):
                    self._emit_on(item, ContextCompacted(id=self._emitter.new_id(), processed_at=self._emitter.time))
            case "system" | "unknown":
                return
            case _:
                assert_never(item.kind)

    def _follow_input(self, item: Item) -> None:
        """Follows the calls whose input the model still writes. A new message leaves behind those of a cut one."""
        if item.subagent:
            return
        if item.kind == "message":
            self.state.calling = []
        elif item.kind == "tool_call" and any(
            isinstance(part, ToolCallPart) and not part.arguments for part in item.content
        ):
            self.state.calling = [*self.state.calling, item.item_id]

    def _message(self, item: Item) -> None:
        emitter = self._emitter
        if item.role == "user":
            if item.item_id not in self.state.taken and not item.subagent and item.name is None:
                emitter.echo(UserMessage(id=self._id(item, "message"), content=_content(item)), processed=True)
            return
        if item.role == "system":  # its event was emitted with that of the user's message
            return
        if any(isinstance(part, ReasoningPart) for part in item.content):
            self._emit_on(item, AgentThinking(id=self._id(item, "thinking"), processed_at=emitter.time))
        texts: list[Text | Redacted] = [
            Text(text=part.text) for part in item.content if isinstance(part, TextPart) and part.text
        ]
        if texts and self._document.thread_of and not item.subagent:
            self.state.last_text = "\n\n".join(part.text for part in texts if isinstance(part, Text))
        if texts:
            self._emit_on(item, AgentMessage(id=self._id(item, "message"), processed_at=emitter.time, content=texts))

    def _emit_on(self, item: Item, event: ManagedEvent) -> None:
        thread = self._thread(item.subagent)
        self._threads.emit_on(thread.id if thread else None, event)

    def _thread(self, subagent: str | None, *, begins: bool = False) -> Thread | None:
        """The thread of the sub-agent that a call started."""
        return self._threads.of(subagent, self._tools.started_by(subagent), begins=begins) if subagent else None

    def _id(self, item: Item, kind: str) -> str:
        return event_id(self._emitter.session_id, kind, item.item_id)

    def _updated(self, data: universal.SessionUpdated) -> None:
        if data.status is not msgspec.UNSET:
            self.state.waiting = data.status == "waiting"
        for name in ("title", "metadata"):
            if (value := getattr(data, name)) is not msgspec.UNSET:
                self._updates[name] = value

    def end_frame(self) -> None:
        for sent in self._arriving:
            processed = isinstance(sent.event, UserDefineOutcome)
            number = self._emitter.echo(sent.event, processed=processed)
            self.state.queued.setdefault(sent.item or "", []).append(number)
        self._arriving = []
        self._turns.settle()
        self._actions.settle()
        if self._updates:
            updates, self._updates = self._updates, {}
            event = {"id": self._emitter.new_id(), "processed_at": self._emitter.time, **updates}
            self._emitter.emit(ManagedSessionUpdated(**event))  # pyright: ignore[reportArgumentType]
        if self._emitter.dirty and (self.state.threads or self.state.outcomes):
            self._set_document(settle(self.state, self._document))

    # -- writing --------------------------------------------------------------------------------------------

    def take(self) -> ProjectionStep | None:
        document = None if self._document is self._kept else msgspec.json.encode(self._document)
        self._kept = self._document
        archived, self._archived_at = self._archived_at, None
        return self._emitter.take(document, archived)

    def snapshot(self) -> tuple[bytes, SessionDocument]:
        return self._emitter.taken, self._kept

    def restore(self, snapshot: object) -> None:
        state, document = cast("tuple[bytes, SessionDocument]", snapshot)
        self._emitter.restore(state)
        self._kept = document
        self._set_document(document)
        self._archived_at = None
        self._actions.reset()


def _beginning(item: Item) -> bool:
    return any(isinstance(part, StatusPart) and part.label.startswith("Compacting") for part in item.content)


def _content(item: Item) -> list[MessageBlock]:
    blocks: list[MessageBlock] = []
    for part in item.content:
        match part:
            case TextPart():
                blocks.append(Text(text=part.text))
            case ImagePart(data=str(data), mime=mime):
                blocks.append(Image(source=Base64Source(media_type=mime or "image/png", data=data)))
            case _:
                continue
    return blocks
