"""Checks a stored log: sequences without gaps, ids, and blobs by their digest. Reads only, also beside a daemon."""

import hashlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from everyagent.errors import EveryagentError
from everyagent.log.projections import PROJECTION
from everyagent.log.sql.connection import Connection
from everyagent.log.sql.rows import NUMBER_MASK, key

#: Opens the contents with a digest. Raises `OSError` or `EveryagentError` if they are not there, or damaged.
OpenBlob: TypeAlias = Callable[[bytes], BinaryIO]
_PAGE = 1000
_PIECE_BYTES = 1 << 20


class _Ids(msgspec.Struct):
    event_id: str
    sequence: int
    session_id: str


class Checked(NamedTuple):
    """The events of one session, or all blobs (`session_id` is None), how many there are, and what is wrong."""

    session_id: str | None
    amount: int
    problems: list[str]


def verify(connection: Connection, open_blob: OpenBlob) -> Iterator[Checked]:
    """Session by session, oldest first; then the blobs. A session that is deleted meanwhile has no problems."""
    last = 0
    while row := connection.execute(
        "SELECT number, session_id, last_sequence FROM sessions WHERE number > ? ORDER BY number LIMIT 1", (last,)
    ).fetchone():
        last, session_id, head = cast("tuple[int, str, int]", row)
        # Read first, so that every event up to it is committed.
        view = cast(
            "int", (connection.execute("SELECT head FROM views WHERE session = ?", (last,)).fetchone() or (0,))[0]
        )
        problems = [*_events(connection, open_blob, last, session_id, head)]
        problems += _gaps(_sequences(connection, last | PROJECTION, view), view, "managed event")
        if problems and not connection.execute("SELECT 1 FROM sessions WHERE number = ?", (last,)).fetchone():
            problems = []
        yield Checked(session_id, head, problems)
    yield _blobs(connection, open_blob)


def _events(connection: Connection, open_blob: OpenBlob, session: int, session_id: str, head: int) -> Iterator[str]:
    yield from _gaps(_sequences(connection, session, head), head, "event")
    seen: set[str] = set()
    low, high = key(session, 0), key(session, head)
    while rows := connection.execute(
        "SELECT key, blob, body FROM events WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (low, high, _PAGE)
    ).fetchall():
        for number, digest, inline in cast("list[tuple[int, bytes | None, bytes | None]]", rows):
            low, sequence = number, number & NUMBER_MASK
            try:
                body = inline if digest is None else _whole(open_blob, digest)
                ids = msgspec.json.decode(body or b"", type=_Ids)
            except (msgspec.DecodeError, OSError, EveryagentError) as error:
                yield f"event {sequence} cannot be read: {error}"
                continue
            if (ids.sequence, ids.session_id) != (sequence, session_id):
                yield f"event {sequence} says that it is event {ids.sequence} of {ids.session_id}"
            if ids.event_id in seen:
                yield f"event {sequence} has the id {ids.event_id} of an earlier one"
            seen.add(ids.event_id)


def _sequences(connection: Connection, session: int, head: int) -> Iterator[int]:
    low, high = key(session, 0), key(session, head)
    while rows := connection.execute(
        "SELECT key FROM events WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (low, high, 10 * _PAGE)
    ).fetchall():
        for (number,) in cast("list[tuple[int]]", rows):
            low = number
            yield number & NUMBER_MASK


def _gaps(sequences: Iterator[int], head: int, noun: str) -> Iterator[str]:
    expected = 1
    for sequence in sequences:
        if sequence != expected:
            yield f"{_span(noun, expected, sequence - 1)} missing"
        expected = sequence + 1
    if expected <= head:
        yield f"{_span(noun, expected, head)} missing"


def _span(noun: str, first: int, last: int) -> str:
    return f"{noun} {first} is" if first == last else f"{noun}s {first} to {last} are"


def _blobs(connection: Connection, open_blob: OpenBlob) -> Checked:
    count, problems, last = 0, cast("list[str]", []), b""
    while row := connection.execute(
        "SELECT digest FROM blobs WHERE digest > ? ORDER BY digest LIMIT 1", (last,)
    ).fetchone():
        last = cast("bytes", row[0])
        count += 1
        try:
            found = _digest(open_blob, last)
            problem = "" if found == last else f"the blob {last.hex()} is damaged: its digest is {found.hex()}"
        except (OSError, EveryagentError) as error:
            problem = f"the blob {last.hex()} cannot be read: {error}"
        # It may have been deleted while it was read.
        if problem and connection.execute("SELECT 1 FROM blobs WHERE digest = ?", (last,)).fetchone():
            problems.append(problem)
    return Checked(None, count, problems)


def _digest(open_blob: OpenBlob, digest: bytes) -> bytes:
    found = hashlib.sha256()
    with open_blob(digest) as file:
        while piece := file.read(_PIECE_BYTES):
            found.update(piece)
    return found.digest()


def _whole(open_blob: OpenBlob, digest: bytes) -> bytes:
    with open_blob(digest) as file:
        return file.read()
