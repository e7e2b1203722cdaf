"""Decodes received events and encodes them again. Accepts events of newer daemons."""

from typing import TypeAlias

import msgspec

from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import Envelope, Event
from everyagent.model.parts import Json

AnyEvent: TypeAlias = Event | Envelope[UnknownData]

_loose = msgspec.json.Decoder(Envelope[Json])


def decode_any_event(body: bytes) -> AnyEvent:
    """Decode an event. Data that this version cannot decode becomes `UnknownData`."""
    try:
        return decode_event(body)
    except msgspec.ValidationError:
        event = _loose.decode(body)
        return msgspec.structs.replace(event, data=UnknownData(event.data))  # pyright: ignore[reportReturnType]


def encode_event(event: AnyEvent) -> bytes:
    """Encode an event as the daemon does."""
    if isinstance(event.data, UnknownData):
        return msgspec.json.encode(msgspec.structs.replace(event, data=event.data.fields))
    return msgspec.json.encode(event)
