"""Full-text search over the events of all sessions."""

from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.words import tsquery, words
from everyagent.log.sql.search_hits import SNIPPET_WORDS, hits, key_range
from everyagent.model.sessions import SearchHit

_IN_WORKSPACE = "AND (SELECT workspace FROM sessions WHERE number = search.key >> 32) = ?5 "


def find_text(
    connection: Connection, text: str, session: int | None, limit: int, workspace: str | None = None
) -> list[SearchHit]:
    """Matches with every word, best first. The last word may be a prefix."""
    query = tsquery(text)
    if not query:
        return []
    low, high = key_range(session)
    rows = connection.execute(
        "SELECT session_id, found.key & 4294967295, at, coalesce(title, topic), agent, text FROM ("
        "  SELECT search.key, text, ts_rank(words, ?1::tsquery, 1) AS rank FROM search"
        "  WHERE words @@ ?1::tsquery AND search.key > ?2 AND search.key < ?3 "
        f"{_IN_WORKSPACE if workspace is not None else ''}ORDER BY rank DESC, search.key LIMIT ?4"
        ") AS found JOIN events ON events.key = found.key JOIN sessions ON sessions.number = found.key >> 32 "
        "ORDER BY rank DESC, found.key",
        (query, low, high, limit, *([] if workspace is None else [workspace])),
    ).fetchall()
    return hits(rows, lambda found: _snippet(found, text))


def _snippet(text: str, query: str) -> str:
    """Some words around the first that was asked for."""
    wanted = tuple({word.text for word in words(query)})
    found = list(words(text))
    first = next((number for number, word in enumerate(found) if word.text.startswith(wanted)), 0)
    start = max(0, min(first - SNIPPET_WORDS // 3, len(found) - SNIPPET_WORDS))
    end = min(len(found), start + SNIPPET_WORDS)
    left = found[start].start if start else 0
    right = found[end - 1].end if end < len(found) else len(text)
    return f"{'…' if start else ''}{text[left:right]}{'…' if end < len(found) else ''}"
