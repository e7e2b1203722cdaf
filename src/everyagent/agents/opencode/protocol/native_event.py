"""What OpenCode said, and whose it is: read from its event stream by `feed.py`. Pure."""

import msgspec
from msgspec import Struct

from everyagent.agents.opencode.protocol.wire import Head, HeadProperties, Name
from everyagent.runtime.framing import Line

BROKEN = (ValueError, RecursionError)
_FIELD = b"data:"

_heads = msgspec.json.Decoder(Head)
_names = msgspec.json.Decoder(Name)


class Said(Struct, frozen=True, gc=False):
    """An event and what its head tells. `session` is the native session it is about, if it is about one.

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


def read(body: bytes, cut: int = 0) -> Said:
    """Never fails. `cut` is the whole length of an event that was too long to be kept whole."""
    if cut:
        return Said(body, problem=f"an event of {cut} bytes was cut after {len(body)}")
    try:
        if not body.isascii():
            body.decode()  # msgspec does not look into what it skips
        head = _head(body)
    except BROKEN as problem:
        return Said(body, problem=str(problem))
    about = head.properties
    parent = child = None
    if about.info is not None and head.type.startswith("session."):
        parent = about.info.parent
    elif about.part is not None and about.part.state is not None and about.part.state.metadata is not None:
        child = about.part.state.metadata.session
    return Said(body, head.type, about.session, parent, child)


def _head(body: bytes) -> Head:
    """What is put together in another way than we know may still have a type and a session that we do."""
    try:
        return _heads.decode(body)
    except msgspec.ValidationError:
        name = _names.decode(body)
        return Head(name.type, HeadProperties(session=name.properties.session))
