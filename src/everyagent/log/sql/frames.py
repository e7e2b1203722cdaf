"""Pages of frames: the messages between agent, daemon and client, byte for byte."""

from collections.abc import Callable, Iterator
from typing import cast

import msgspec

from everyagent.clock import rfc3339
from everyagent.log.log import FrameForm
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.rows import DIRECTIONS, FORMS, NUMBER_MASK, key
from everyagent.log.sql.spans import PAGE_BYTES, session_head
from everyagent.model.parts import Json
from everyagent.model.sessions import FrameInfo


def frame_page(
    connection: Connection, blob: Callable[[bytes], bytes], session: int, after: int, limit: int
) -> tuple[list[FrameInfo], bool]:
    session_head(connection, session)
    rows = connection.execute(
        "SELECT key, direction, form, at, first, last, blob, body FROM frames "
        "WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
        (key(session, after), key(session + 1, 0), limit + 1),
    )
    frames: list[FrameInfo] = []
    room = PAGE_BYTES
    for number, direction, form, at, first, last, digest, inline in cast(
        "Iterator[tuple[int, int, int, int, int, int, bytes | None, bytes]]", rows
    ):
        body = inline if digest is None else blob(digest)
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
