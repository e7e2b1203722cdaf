"""Reads the head of an event: its type and the session it is about. Pure; used by `feed.py`."""

import msgspec
from msgspec import Struct

from everyagent.agents.opencode.protocol.wire import EventHead, EventHeadProperties, EventName
from everyagent.agents.unparsed import BROKEN
from everyagent.runtime.framing import Line

_FIELD = b"data:"

_heads = msgspec.json.Decoder(EventHead)
_names = msgspec.json.Decoder(EventName)


class NativeEvent(Struct, frozen=True, gc=False):
    """An event and its head. `session` is the native session it is about, if any.

    `parent` is the session that made it, `child` the session that a tool call has made. An event that cannot be read
    has a `problem`.
    """

    body: bytes
    type: str = ""
    session: str | None = None
    parent: str | None = None
    child: str | None = None
    problem: str | None = None


def event(line: Line) -> bytes | None:
    """The event in a line of the stream; None for a line that holds none."""
    return line.body[len(_FIELD) :].strip() if line.body.startswith(_FIELD) else None


def read(body: bytes, cut: int = 0) -> NativeEvent:
    """Never raises. `cut` is the whole length of an event that was too long to be kept whole."""
    if cut:
        return NativeEvent(body, problem=f"an event of {cut} bytes was cut after {len(body)}")
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate what it skips
        head = _head(body)
    except BROKEN as problem:
        return NativeEvent(body, problem=str(problem))
    about = head.properties
    parent = child = None
    if about.info is not None and head.type.startswith("session."):
        parent = about.info.parent
    elif about.part is not None and about.part.state is not None and about.part.state.metadata is not None:
        child = about.part.state.metadata.session
    return NativeEvent(body, head.type, about.session, parent, child)


def _head(body: bytes) -> EventHead:
    """An event of an unknown shape may still have a type and a session that we know."""
    try:
        return _heads.decode(body)
    except msgspec.ValidationError:
        name = _names.decode(body)
        return EventHead(name.type, EventHeadProperties(session=name.properties.session))
