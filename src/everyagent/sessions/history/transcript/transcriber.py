"""Turns events into entries of a transcript, one by one. Pure; it does not need the deltas."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct, UnsetType

from everyagent.model.asks import AskKind
from everyagent.model.decoding import UnknownData
from everyagent.model.events import (
    Envelope,
    Error,
    Event,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.items import Item
from everyagent.model.parts import (
    ContentPart,
    FileRefPart,
    ImagePart,
    Json,
    JsonPart,
    ReasoningPart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from everyagent.sessions.history.transcript.entries import (
    AnyEntry,
    Asked,
    Called,
    Changed,
    Failed,
    MessageEntry,
    Noted,
    Pictured,
    Returned,
    Thought,
)
from everyagent.sessions.history.transcript.ordering import Places

AnyEvent: TypeAlias = Event | Envelope[UnknownData]

#: The event types a transcript is made of; readers of a log need not fetch the others.
TRANSCRIBED: frozenset[str] = frozenset(
    data.type
    for data in (
        SessionUpdated,
        SessionEnded,
        TurnEnded,
        ItemStarted,
        ItemCompleted,
        PermissionRequested,
        PermissionResolved,
        QuestionRequested,
        QuestionResolved,
        ToolRequested,
        ToolResolved,
        Error,
        Unparsed,
    )
)


class Transcriber:
    """Entries in the order in which things began. Keeps only open state: calls, asks, sub-agents, unfinished items."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._depths: dict[str, int] = {}
        self._asks: dict[str, Asked] = {}
        self._places = Places()

    def feed(self, event: AnyEvent) -> Iterator[AnyEntry]:
        at, places = _Place(event.sequence, event.time), self._places
        match event.data:
            case ItemStarted(item=item):
                places.keep(item.item_id)
            case ItemCompleted(item=item):
                places.fill(item.item_id, self._item(at, item))
            case PermissionRequested() | QuestionRequested() | ToolRequested():
                ask_id, asked = _asked(at, event.data)
                self._asks[ask_id] = asked
                places.keep(ask_id)
            case PermissionResolved() | QuestionResolved() | ToolResolved():
                ask_id, asked = _asked(at, event.data)
                requested = self._asks.pop(ask_id, asked)
                places.fill(ask_id, [msgspec.structs.replace(asked, prompt=requested.prompt)])
            case UnknownData(fields=fields):
                places.add([Noted(sequence=at.sequence, time=at.time, label=event.type, detail=_json(fields))])
            case (
                SessionStarted()
                | SessionUpdated()
                | SessionEnded()
                | TurnStarted()
                | TurnEnded()
                | ModelResponded()
                | ItemDelta()
                | Error()
                | Unparsed()
            ):
                places.add(_noted(at, event.data))
        yield from places.ready()

    def finish(self) -> Iterator[AnyEntry]:
        """The asks without an answer, and what followed them."""
        for ask_id, asked in self._asks.items():
            self._places.fill(ask_id, [asked])
        self._asks.clear()
        yield from self._places.rest()

    def _item(self, at: "_Place", item: Item) -> Iterator[AnyEntry]:
        depth = 0 if item.subagent is None else self._depths.get(item.subagent, 0) + 1
        if item.kind == "tool_call" and depth:
            self._depths[item.item_id] = depth
        for part in item.content:
            yield from self._part(at, depth, item, part)
        if item.status == "failed" and not any(isinstance(part, ToolResultPart) for part in item.content):
            message = item.error or "This was cut short."
            yield Failed(sequence=at.sequence, time=at.time, depth=depth, message=message, code=None)

    def _part(self, at: "_Place", depth: int, item: Item, part: ContentPart) -> Iterator[AnyEntry]:
        sequence, time = at.sequence, at.time
        match part:
            case TextPart(text=text):
                if text:
                    yield MessageEntry(sequence=sequence, time=time, depth=depth, role=item.role, text=text)
            case ReasoningPart(text=text, visibility=visibility):
                if text and visibility == "public":
                    yield Thought(sequence=sequence, time=time, depth=depth, text=text)
            case ToolCallPart(name=name, arguments=arguments, call_id=call_id, mcp_server=server):
                tool = f"{server}/{name}" if server else name
                self._tools[call_id] = tool
                yield Called(sequence=sequence, time=time, depth=depth, tool=tool, arguments=arguments)
            case ToolResultPart():
                yield Returned(
                    sequence=sequence,
                    time=time,
                    depth=depth,
                    tool=self._tools.pop(part.call_id, item.name or "tool"),
                    output=part.output,
                    is_error=bool(part.is_error) or item.status == "failed",
                    exit_code=part.exit_code,
                )
            case FileRefPart(path=path, action=action, diff=diff):
                yield Changed(sequence=sequence, time=time, depth=depth, path=path, action=action, diff=diff)
            case ImagePart(path=path, mime=mime, data=data):
                yield Pictured(sequence=sequence, time=time, depth=depth, path=path, mime=mime, data=data)
            case StatusPart(label=label, detail=detail):
                yield Noted(sequence=sequence, time=time, depth=depth, label=label, detail=detail)
            case JsonPart(json=json):
                yield Noted(sequence=sequence, time=time, depth=depth, label=item.name or "data", detail=_json(json))
            case _:
                assert_never(part)


def transcript(events: Iterable[AnyEvent]) -> Iterator[AnyEntry]:
    transcriber = Transcriber()
    for event in events:
        yield from transcriber.feed(event)
    yield from transcriber.finish()


class _Place(Struct, frozen=True):
    sequence: int
    time: str


def _noted(at: _Place, data: EventData) -> Iterator[AnyEntry]:
    sequence, time = at.sequence, at.time
    match data:
        case Error(message=message, code=code, retry=retry, stderr=stderr):
            if retry:
                attempt = f"attempt {retry.attempt} of {retry.max}" if retry.max else f"attempt {retry.attempt}"
                yield Noted(sequence=sequence, time=time, label="Trying again", detail=f"{message} ({attempt})")
            else:
                spoken = "\n…\n".join(text for text in (stderr.head, stderr.tail) if text) if stderr else None
                yield Failed(sequence=sequence, time=time, message=message, code=code, detail=spoken or None)
        case Unparsed(error=error):
            yield Noted(sequence=sequence, time=time, label="Unknown frame", detail=error)
        case TurnEnded(stop_reason=reason, error=error):
            if reason != "end_turn":
                yield Noted(sequence=sequence, time=time, label=f"Turn ended: {reason}", detail=error)
        case SessionEnded(reason=reason, message=message):
            yield Noted(sequence=sequence, time=time, label=f"Session ended: {reason}", detail=message)
        case SessionUpdated(model=model, agent_mode=agent_mode, permission_mode=permission_mode):
            for label, value in (("Model", model), ("Mode", agent_mode), ("Permissions", permission_mode)):
                if not isinstance(value, UnsetType):
                    yield Noted(sequence=sequence, time=time, label=label, detail=value)
        case _:
            return


def _asked(
    at: _Place,
    data: PermissionRequested
    | PermissionResolved
    | QuestionRequested
    | QuestionResolved
    | ToolRequested
    | ToolResolved,
) -> tuple[str, Asked]:
    kind: AskKind
    match data:
        case PermissionRequested() | PermissionResolved():
            ask_id, kind, prompt, answer = data.permission_id, "permission", _with_input(data.action, data.input), None
        case QuestionRequested() | QuestionResolved():
            ask_id, kind = data.question_id, "question"
            prompt = "\n".join(question.prompt for question in data.questions) or data.prompt
            chosen = "; ".join(", ".join(labels) for labels in data.answers or [])
            answer = chosen or data.response
        case ToolRequested() | ToolResolved():
            ask_id, kind, prompt, answer = data.tool_id, "tool", _with_input(data.name, data.input), data.output
    outcome = None
    if data.status != "requested":
        outcome = ": ".join(text for text in (data.status, answer, data.message) if text)
    return ask_id, Asked(sequence=at.sequence, time=at.time, kind=kind, prompt=prompt, outcome=outcome)


def _with_input(name: str, input: Json) -> str:
    return name if input is None else f"{name} {_json(input)}"


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()
