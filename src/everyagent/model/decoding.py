"""Decodes events in two steps: the envelope, then its data by type."""

import msgspec

from everyagent.model.events import DATA_BY_TYPE, Envelope, Event, EventData
from everyagent.model.parts import Json

_envelopes = msgspec.json.Decoder(Envelope[msgspec.Raw])
_data: dict[str, msgspec.json.Decoder[EventData]] = {
    name: msgspec.json.Decoder(data) for name, data in DATA_BY_TYPE.items()
}


class UnknownData(msgspec.Struct, frozen=True):
    """The data of an event that this version cannot decode, because a newer one wrote it."""

    fields: Json


def decode_event(body: bytes) -> Event | Envelope[UnknownData]:
    """Decode an event. Unknown types and values become `UnknownData`, because a newer daemon may send them."""
    envelope = _envelopes.decode(body)
    return msgspec.structs.replace(envelope, data=_decode_data(envelope))  # pyright: ignore[reportReturnType]


def _decode_data(envelope: Envelope[msgspec.Raw]) -> EventData | UnknownData:
    try:
        return _data[envelope.type].decode(envelope.data)
    except (KeyError, msgspec.ValidationError):
        return UnknownData(msgspec.json.decode(envelope.data))
