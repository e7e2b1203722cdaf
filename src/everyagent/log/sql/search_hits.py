"""The range and the results of a full-text search, the same on every database."""

from collections.abc import Callable, Sequence
from typing import cast

from everyagent.clock import rfc3339
from everyagent.log.sql.rows import key
from everyagent.model.sessions import SearchHit

SNIPPET_WORDS = 24
_END_OF_KEYS = (1 << 63) - 1


def key_range(session: int | None) -> tuple[int, int]:
    """The keys of one session's events, or of all: after the first number, and before the second."""
    return (0, _END_OF_KEYS) if session is None else (key(session, 0), key(session + 1, 0))


def hits(rows: Sequence[object], snippet: Callable[[str], str]) -> list[SearchHit]:
    """Rows of session id, sequence, time, title, agent and the text that was found, which `snippet` shortens."""
    return [
        SearchHit(
            session_id=session_id, sequence=sequence, time=rfc3339(at), title=title, agent=agent, snippet=snippet(found)
        )
        for session_id, sequence, at, title, agent, found in cast(
            "Sequence[tuple[str, int, int, str | None, str, str]]", rows
        )
    ]
