"""Pages of frames: the messages between agent, daemon and client, byte for byte."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import cast

import msgspec

from everyagent.clock import rfc3339
from everyagent.log.log import FrameForm
from everyagent.log.sql.checked_pages import whole
from everyagent.log.sql.checksums import damaged_frame
from everyagent.log.sql.connection import Connection, Row
from everyagent.log.sql.rows import DIRECTIONS, FORMS, NUMBER_MASK, key
from everyagent.log.sql.spans import PAGE_BYTES, session_head
from everyagent.model.parts import Json
from everyagent.model.sessions import FrameInfo

#: A row that names more events of one frame is damaged.
_MOST_EVENTS = 1_000_000


def frame_page(
    connection: Connection, blob: Callable[[bytes], bytes], session: int, after: int, limit: int
) -> tuple[list[FrameInfo], bool]:
    """A page ends before a damaged frame; a page that would begin with one raises `LogDamaged`."""
    session_head(connection, session)
    statement = (
        "SELECT key, direction, form, at, first, last, blob, body FROM frames "
        "WHERE key > ? AND key < ? ORDER BY key LIMIT ?"
    )
    # An exception would keep the cursor open, and the connection at an old state of the database.
    with closing(connection.execute(statement, (key(session, after), key(session + 1, 0), limit + 1))) as rows:
        return _page(connection, rows, blob, session, limit)


def _page(
    connection: Connection, rows: Iterable[Row], blob: Callable[[bytes], bytes], session: int, limit: int
) -> tuple[list[FrameInfo], bool]:
    frames: list[FrameInfo] = []
    room = PAGE_BYTES
    for number, direction, form, at, first, last, digest, inline in cast(
        "Iterator[tuple[int, int, int, int, int, int, bytes | None, bytes]]", rows
    ):
        body = whole(inline, digest, None, blob)
        if body is None or direction >= len(DIRECTIONS) or form >= len(FORMS) or last - first > _MOST_EVENTS:
            if frames:
                return frames, True
            raise damaged_frame(connection, session, number & NUMBER_MASK)
        room -= len(body)
        if frames and (room < 0 or len(frames) == limit):
            return frames, True
        frames.append(
            FrameInfo(
                number=number & NUMBER_MASK,
                time=rfc3339(at),
                direction=DIRECTIONS[direction],
                sequences=list(range(first, last + 1)),
                body=_value(FORMS[form], body),
            )
        )
    return frames, False


def _value(form: FrameForm, body: bytes) -> Json:
    """The frame as JSON, or as text if our decoder cannot read it."""
    if form == "json":
        try:
            return cast("Json", msgspec.json.decode(body))
        except (msgspec.DecodeError, RecursionError):
            return body.decode("utf-8", "backslashreplace")
    return body.decode("utf-8", "backslashreplace")
