"""The wire form of decoded frames between a runner and its daemon, and the check of what a runner may send. Pure.

Event data is JSON inside of MessagePack: numbers of any size survive, and frames stay byte for byte.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from everyagent.agents.adapter import DecodedFrame, Draft, Echo, Frame, NativeSession, Synthetic
from everyagent.model import events
from everyagent.model.events import DATA_BY_TYPE, TYPE_NUMBERS, EventData, ItemCompleted, ItemStarted, SessionUpdated

#: The drafts that an adapter makes. A runner can send no others: no start or end of a session, no custom tool call.
ALLOWED: Final[frozenset[type[EventData]]] = frozenset(
    {
        events.Error,
        events.ItemCompleted,
        events.ItemDelta,
        events.ItemStarted,
        events.ModelResponded,
        events.PermissionRequested,
        events.PermissionResolved,
        events.QuestionRequested,
        events.QuestionResolved,
        events.SessionUpdated,
        events.TurnEnded,
        events.TurnStarted,
        events.Unparsed,
    }
)
#: Fields of a session that an agent may report.
_UPDATABLE: Final = frozenset({"model", "variant", "agent_mode", "permission_mode", "title", "native_session_id"})
_NATIVE_SESSION, _ECHO = 1000, 1001
_KINDS = {TYPE_NUMBERS[data.type]: data for data in DATA_BY_TYPE.values() if data in ALLOWED}
_DECODERS = {number: msgspec.json.Decoder(data) for number, data in _KINDS.items()}
_native_session = msgspec.json.Decoder(NativeSession)
_echo = msgspec.json.Decoder(Echo)
_encode = msgspec.json.Encoder().encode

#: The number of the data's type, negative if the adapter inferred the event, and the data as JSON.
WireDraft: TypeAlias = tuple[int, bytes]


class WireFrame(Struct, frozen=True, array_like=True, gc=False):
    direction: Literal["from_agent", "to_agent"]
    form: Literal["json", "text", "bytes"]
    body: bytes
    drafts: list[WireDraft]


class NotAllowed(ValueError):
    """A runner sent an event that no agent may make."""


def encoded(batch: Sequence[DecodedFrame]) -> list[WireFrame]:
    return [
        WireFrame(each.frame.direction, each.frame.form, each.frame.body, [_wire(draft) for draft in each.drafts])
        for each in batch
    ]


def decoded(batch: Sequence[WireFrame]) -> list[DecodedFrame]:
    """Raises `NotAllowed` or `msgspec.MsgspecError`."""
    return [
        DecodedFrame(Frame(each.direction, each.body, each.form), [_draft(draft) for draft in each.drafts])
        for each in batch
    ]


def _wire(draft: Draft) -> WireDraft:
    match draft:
        case NativeSession():
            return _NATIVE_SESSION, _encode(draft)
        case Echo():
            return _ECHO, _encode(draft)
        case Synthetic():
            return -TYPE_NUMBERS[draft.data.type], _encode(_unsigned(draft.data))
        case _:
            return TYPE_NUMBERS[draft.type], _encode(_unsigned(draft))


def _unsigned(data: EventData) -> EventData:
    """Some agents show messages of users who reached them otherwise. On a runner these are the agent's word only."""
    if isinstance(data, ItemStarted | ItemCompleted) and data.item.role == "user" and not data.item.subagent:
        return replace(data, item=replace(data.item, role="system", kind="system"))
    return data


def _draft(wire: WireDraft) -> Draft:
    kind, body = wire
    if kind == _NATIVE_SESSION:
        return _native_session.decode(body)
    if kind == _ECHO:
        return _echo.decode(body)
    decoder = _DECODERS.get(abs(kind))
    if decoder is None:
        raise NotAllowed(f"An agent makes no events of kind {kind}.")
    data = decoder.decode(body)
    _check(data)
    return Synthetic(data) if kind < 0 else data


def _check(data: EventData) -> None:
    match data:
        case ItemStarted() | ItemCompleted():
            if data.item.role == "user" and not data.item.subagent:
                raise NotAllowed("An agent makes no messages of the user.")
        case SessionUpdated():
            given = {name for name in data.__struct_fields__ if getattr(data, name) is not UNSET}
            if not given <= _UPDATABLE:
                raise NotAllowed(f"An agent does not change {', '.join(sorted(given - _UPDATABLE))} of its session.")
        case _:
            return
