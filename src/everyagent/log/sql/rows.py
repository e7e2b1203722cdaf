"""Conversion between values of the model and database rows: keys, enumerations, sessions, asks."""

from collections.abc import Sequence
from typing import Final, cast, get_args

import msgspec

from everyagent.errors import SessionNotFound
from everyagent.log.log import AskRecord, FrameDirection, FrameForm, SessionRecord
from everyagent.log.sql.connection import Value
from everyagent.model.usage import Usage

NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1

DIRECTIONS: Final = cast("tuple[FrameDirection, ...]", get_args(FrameDirection))
FORMS: Final = cast("tuple[FrameForm, ...]", get_args(FrameForm))
DIRECTION_NUMBERS: Final = {name: number for number, name in enumerate(DIRECTIONS)}
FORM_NUMBERS: Final = {name: number for number, name in enumerate(FORMS)}

SESSION_COLUMNS: Final = SessionRecord.__struct_fields__
SELECT_SESSION: Final = f"SELECT {', '.join(SESSION_COLUMNS)} FROM sessions "
_ASK_COLUMNS: Final = AskRecord.__struct_fields__
SELECT_ASK: Final = (
    "SELECT ask_id, kind, session, session_id, sequence, asked_at, request, answer "
    "FROM asks JOIN sessions ON sessions.number = asks.session "
)


def key(session: int, number: int) -> int:
    return session << NUMBER_BITS | number


def session_row(record: SessionRecord) -> tuple[Value, ...]:
    values = {name: column(getattr(record, name)) for name in SESSION_COLUMNS}
    return tuple(values.values())


def column(value: object) -> Value:
    """A field of a session as its column holds it."""
    match value:
        case dict() | Usage():
            return msgspec.json.encode(value)
        case bool():
            return int(value)
        case None | int() | float() | str() | bytes():
            return value
        case _:
            raise TypeError(f"no column can hold a {type(value).__name__}")


def session_record(row: Sequence[Value]) -> SessionRecord:
    fields: dict[str, object] = dict(zip(SESSION_COLUMNS, row, strict=True))
    for name in ("metadata", "usage"):
        fields[name] = msgspec.json.decode(cast("bytes", fields[name]))
    fields["live"] = bool(fields["live"])
    return msgspec.convert(fields, SessionRecord)


def ask_record(row: Sequence[Value]) -> AskRecord:
    return msgspec.convert(dict(zip(_ASK_COLUMNS, row, strict=True)), AskRecord)


def no_such_session(name: str | int) -> SessionNotFound:
    return SessionNotFound(f"There is no session {name!r}. GET /v1/sessions lists those there are.")
