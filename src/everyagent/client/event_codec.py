"""Received bytes into events. A newer daemon's words never break an older client."""

from typing import TypeAlias

import msgspec

from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import Envelope, Event
from everyagent.model.parts import Json

AnyEvent: TypeAlias = Event | Envelope[UnknownData]

_loose = msgspec.json.Decoder(Envelope[Json])


def read_event(body: bytes) -> AnyEvent:
    """Data that this version cannot read, by type or by value, is handed over as `UnknownData`."""
    try:
        return decode_event(body)
    except msgspec.ValidationError:
        event = _loose.decode(body)
        return msgspec.structs.replace(event, data=UnknownData(event.data))  # pyright: ignore[reportReturnType]


def encode_event(event: AnyEvent) -> bytes:
    """As the daemon would write it."""
    if isinstance(event.data, UnknownData):
        return msgspec.json.encode(msgspec.structs.replace(event, data=event.data.fields))
    return msgspec.json.encode(event)
