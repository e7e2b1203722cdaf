"""Decodes the mock's lines into drafts. Pure and without state: its frames name the items they belong to."""

from collections.abc import Callable, Sequence
from typing import TypeVar, get_args

import msgspec

from everyagent.agents.adapter import DecodedFrame, Draft, Frame, NativeSession
from everyagent.agents.forms import requested
from everyagent.agents.mock import items, wire
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.asks import Question, QuestionOption
from everyagent.model.events import (
    DeltaKind,
    Error,
    ErrorCode,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    Retry,
    TurnEnded,
)
from everyagent.model.usage import Usage, tokens
from everyagent.runtime.framing import Line

F = TypeVar("F", bound=wire.MockFrame)

LOCATION = "agents/mock/decode.py"

_heads = msgspec.json.Decoder(wire.MockHead)
_pieces = msgspec.json.Decoder(wire.MockPiece)
_HOT = b'{"type":"text",'


def decode(line: Line) -> DecodedFrame:
    """Never raises: a line that it does not understand becomes an `Unparsed`, with the line as its frame."""
    body = line.body
    if line.cut:
        return unparsed(body, f"a line of {line.cut} bytes was cut after {len(body)}", LOCATION)
    try:
        if not body.isascii():
            body.decode()  # msgspec does not look into what it skips
        if body.startswith(_HOT):
            return DecodedFrame(Frame("from_agent", body), _text(_pieces.decode(body)))
        type = _heads.decode(body).type
        if type not in _BY_TYPE:
            return unparsed(body, f"unknown frame type {type!r}", LOCATION)
        return DecodedFrame(Frame("from_agent", body), _BY_TYPE[type](body))
    except BROKEN as problem:
        return unparsed(body, str(problem), LOCATION)
    except Exception as fault:  # noqa: BLE001 - one frame must not cost the agent
        return undecodable(body, fault, LOCATION)


def _typed(shape: type[F], translate: Callable[[F], Sequence[Draft]]) -> Callable[[bytes], Sequence[Draft]]:
    decoder = msgspec.json.Decoder(shape)
    return lambda body: translate(decoder.decode(body))


def _ready(frame: wire.Ready) -> Sequence[Draft]:
    return (NativeSession(frame.session),)


def _message_start(frame: wire.MessageStart) -> Sequence[Draft]:
    return (ItemStarted(item=items.message(frame.id, frame.subagent, status="in_progress")),)


def _delta(kind: DeltaKind) -> Callable[[wire.MockPiece], Sequence[Draft]]:
    return lambda piece: (
        ItemDelta(item_id=piece.id, native_item_id=piece.id, delta=piece.text, content_index=piece.index, kind=kind),
    )


_text = _delta("text")


def _message_end(frame: wire.MessageEnd) -> Sequence[Draft]:
    return (ItemCompleted(item=items.message(frame.id, frame.subagent, frame.content, status="completed")),)


def _call_start(frame: wire.CallStart) -> Sequence[Draft]:
    return (ItemStarted(item=items.call(frame)),)


def _call_end(frame: wire.CallEnd) -> Sequence[Draft]:
    return (ItemCompleted(item=items.call(frame)),)


def _result_start(frame: wire.ResultStart) -> Sequence[Draft]:
    return (ItemStarted(item=items.result(frame)),)


def _result_end(frame: wire.ResultEnd) -> Sequence[Draft]:
    return (ItemCompleted(item=items.result(frame)),)


def _plan(frame: wire.MockPlan) -> Sequence[Draft]:
    return (ItemCompleted(item=items.plan(frame, "completed")),)


def _compacted(frame: wire.MockCompacted) -> Sequence[Draft]:
    return (ItemCompleted(item=items.compaction(frame, "completed")),)


def _permission(frame: wire.MockPermission) -> Sequence[Draft]:
    return (
        PermissionRequested(
            permission_id=frame.id,
            action=frame.action,
            status="requested",
            tool=frame.tool,
            input=frame.input,
            options=list(frame.options),
            suggestions=frame.suggestions,
            item_id=frame.call,
        ),
    )


def _withdrawn(frame: wire.MockWithdrawn) -> Sequence[Draft]:
    why = "The agent no longer asks for it."
    return (PermissionResolved(permission_id=frame.id, action="", status="denied", reply="reject", message=why),)


def _questions(frame: wire.MockQuestions) -> Sequence[Draft]:
    questions = [
        Question(
            prompt=each.prompt,
            header=each.header,
            options=[QuestionOption(label=option.label, description=option.description) for option in each.options],
            multi_select=each.multi_select,
        )
        for each in frame.questions
    ]
    return (requested(frame.id, questions, None),)


_ERROR_CODES: dict[str, ErrorCode] = {code: code for code in get_args(ErrorCode)}


def _error(frame: wire.MockError) -> Sequence[Draft]:
    again = frame.retry
    retry = Retry(attempt=again.attempt, delay_ms=again.delay_ms, max=again.max) if again else None
    code = _ERROR_CODES.get(frame.code, "internal")
    return (Error(message=frame.message, code=code, retry=retry, subagent=frame.subagent),)


def _responded(frame: wire.Responded) -> Sequence[Draft]:
    usage = Usage(input_tokens=tokens(frame.usage.input), output_tokens=tokens(frame.usage.output))
    return (ModelResponded(usage=usage, model=frame.model, cost_usd=frame.cost, subagent=frame.subagent),)


def _turn_end(frame: wire.TurnEnd) -> Sequence[Draft]:
    usage = Usage(input_tokens=tokens(frame.usage.input), output_tokens=tokens(frame.usage.output))
    return (TurnEnded(turn_id="", stop_reason=frame.stop, usage=usage, cost_usd=frame.cost, error=frame.error),)


_BY_TYPE: dict[str, Callable[[bytes], Sequence[Draft]]] = {
    "ready": _typed(wire.Ready, _ready),
    "message.start": _typed(wire.MessageStart, _message_start),
    "text": _typed(wire.MockPiece, _text),
    "reasoning": _typed(wire.MockPiece, _delta("reasoning")),
    "message.end": _typed(wire.MessageEnd, _message_end),
    "call.start": _typed(wire.CallStart, _call_start),
    "call.input": _typed(wire.MockPiece, _delta("tool_input")),
    "call.end": _typed(wire.CallEnd, _call_end),
    "result.start": _typed(wire.ResultStart, _result_start),
    "output": _typed(wire.MockPiece, _delta("tool_output")),
    "result.end": _typed(wire.ResultEnd, _result_end),
    "plan": _typed(wire.MockPlan, _plan),
    "compacted": _typed(wire.MockCompacted, _compacted),
    "permission": _typed(wire.MockPermission, _permission),
    "withdrawn": _typed(wire.MockWithdrawn, _withdrawn),
    "question": _typed(wire.MockQuestions, _questions),
    "error": _typed(wire.MockError, _error),
    "responded": _typed(wire.Responded, _responded),
    "turn.end": _typed(wire.TurnEnd, _turn_end),
}
