"""Full-text search over the events of all sessions."""

from typing import cast

from everyagent.clock import rfc3339
from everyagent.log.sql.rows import key
from everyagent.log.sqlite.connection import Connection
from everyagent.model.sessions import SearchHit

_SNIPPET_WORDS = 24
_END_OF_KEYS = (1 << 63) - 1
_IN_WORKSPACE = "AND (SELECT workspace FROM sessions WHERE number = search.rowid >> 32) = ?6 "


def find_text(
    connection: Connection, text: str, session: int | None, limit: int, workspace: str | None = None
) -> list[SearchHit]:
    """Matches with every word, best first. The last word may be a prefix."""
    words = _phrases(text)
    if not words:
        return []
    low, high = (0, _END_OF_KEYS) if session is None else (key(session, 0), key(session + 1, 0))
    rows = connection.execute(
        "SELECT session_id, found.rowid & 4294967295, at, coalesce(title, topic), agent, snippet FROM ("
        "  SELECT rowid, rank, snippet(search, 0, '', '', '…', ?5) AS snippet FROM search"
        "  WHERE search MATCH ?1 AND rowid > ?2 AND rowid < ?3 "
        f"{_IN_WORKSPACE if workspace is not None else ''}ORDER BY rank LIMIT ?4"
        ") AS found JOIN events ON events.key = found.rowid JOIN sessions ON sessions.number = found.rowid >> 32 "
        "ORDER BY rank",
        (words, low, high, limit, _SNIPPET_WORDS, *([] if workspace is None else [workspace])),
    ).fetchall()
    return [
        SearchHit(session_id=session_id, sequence=sequence, time=rfc3339(at), title=title, agent=agent, snippet=snippet)
        for session_id, sequence, at, title, agent, snippet in cast(
            "list[tuple[str, int, int, str | None, str, str]]", rows
        )
    ]


def _phrases(text: str) -> str:
    """Each word as a quoted phrase, so that nothing in it is query syntax."""
    words = text.encode("utf-8", "replace").decode().replace("\0", " ").split()
    searchable = [word for word in words if any(character.isalnum() for character in word)]
    return " ".join('"' + word.replace('"', '""') + '"' for word in searchable) + ("*" if searchable else "")
