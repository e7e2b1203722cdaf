"""Full-text search over the events of all sessions."""

from typing import cast

from everyagent.clock import rfc3339
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.words import tsquery, words
from everyagent.log.sql.rows import key
from everyagent.model.sessions import SearchHit

_SNIPPET_WORDS = 24
_END_OF_KEYS = (1 << 63) - 1
_IN_WORKSPACE = "AND (SELECT workspace FROM sessions WHERE number = search.key >> 32) = ?5 "


def find_text(
    connection: Connection, text: str, session: int | None, limit: int, workspace: str | None = None
) -> list[SearchHit]:
    """Matches with every word, best first. The last word may be a prefix."""
    query = tsquery(text)
    if not query:
        return []
    low, high = (0, _END_OF_KEYS) if session is None else (key(session, 0), key(session + 1, 0))
    rows = connection.execute(
        "SELECT session_id, found.key & 4294967295, at, coalesce(title, topic), agent, text FROM ("
        "  SELECT search.key, text, ts_rank(words, ?1::tsquery, 1) AS rank FROM search"
        "  WHERE words @@ ?1::tsquery AND search.key > ?2 AND search.key < ?3 "
        f"{_IN_WORKSPACE if workspace is not None else ''}ORDER BY rank DESC, search.key LIMIT ?4"
        ") AS found JOIN events ON events.key = found.key JOIN sessions ON sessions.number = found.key >> 32 "
        "ORDER BY rank DESC, found.key",
        (query, low, high, limit, *([] if workspace is None else [workspace])),
    ).fetchall()
    return [
        SearchHit(
            session_id=session_id,
            sequence=sequence,
            time=rfc3339(at),
            title=title,
            agent=agent,
            snippet=_snippet(found, text),
        )
        for session_id, sequence, at, title, agent, found in cast(
            "list[tuple[str, int, int, str | None, str, str]]", rows
        )
    ]


def _snippet(text: str, query: str) -> str:
    """Some words around the first that was asked for."""
    wanted = tuple({word.text for word in words(query)})
    found = list(words(text))
    first = next((number for number, word in enumerate(found) if word.text.startswith(wanted)), 0)
    start = max(0, min(first - _SNIPPET_WORDS // 3, len(found) - _SNIPPET_WORDS))
    end = min(len(found), start + _SNIPPET_WORDS)
    left = found[start].start if start else 0
    right = found[end - 1].end if end < len(found) else len(text)
    return f"{'…' if start else ''}{text[left:right]}{'…' if end < len(found) else ''}"
