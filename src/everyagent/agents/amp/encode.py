"""Encodes commands as Amp's lines. Pure."""

from collections.abc import Sequence

import msgspec

_encoder = msgspec.json.Encoder()


def prompt(content: Sequence[object], *, steer: bool = False) -> bytes:
    """A user's message. With `steer` Amp reads it as soon as it can, else when its turn is over."""
    line: dict[str, object] = {"type": "user", "message": {"role": "user", "content": content}}
    return _encoder.encode(line | ({"steer": True} if steer else {})) + b"\n"


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def image(mime: str, data: str) -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
