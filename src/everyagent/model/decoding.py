"""Stored or received bytes back into events, in two steps: the envelope, then its data by type."""

import msgspec

from everyagent.model.events import DATA_BY_TYPE, Envelope, Event, EventData
from everyagent.model.parts import Json

_envelopes = msgspec.json.Decoder(Envelope[msgspec.Raw])
_data: dict[str, msgspec.json.Decoder[EventData]] = {
    name: msgspec.json.Decoder(data) for name, data in DATA_BY_TYPE.items()
}


class UnknownData(msgspec.Struct, frozen=True):
    """The data of an event type newer than this code."""

    fields: Json


def decode_event(body: bytes) -> Event | Envelope[UnknownData]:
    """Never fails on a type it does not know: a newer daemon may send one."""
    envelope = _envelopes.decode(body)
    decoder = _data.get(envelope.type)
    data = decoder.decode(envelope.data) if decoder else UnknownData(msgspec.json.decode(envelope.data))
    return msgspec.structs.replace(envelope, data=data)  # pyright: ignore[reportReturnType]
