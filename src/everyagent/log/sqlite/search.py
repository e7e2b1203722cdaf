"""Full-text search over the events of all sessions."""

from everyagent.log.sql.search_hits import SNIPPET_WORDS, hits, key_range
from everyagent.log.sqlite.connection import Connection
from everyagent.model.sessions import SearchHit

_IN_WORKSPACE = "AND (SELECT workspace FROM sessions WHERE number = search.rowid >> 32) = ?6 "


def find_text(
    connection: Connection, text: str, session: int | None, limit: int, workspace: str | None = None
) -> list[SearchHit]:
    """Matches with every word, best first. The last word may be a prefix."""
    words = _phrases(text)
    if not words:
        return []
    low, high = key_range(session)
    rows = connection.execute(
        "SELECT session_id, found.rowid & 4294967295, at, coalesce(title, topic), agent, snippet FROM ("
        "  SELECT rowid, rank, snippet(search, 0, '', '', '…', ?5) AS snippet FROM search"
        "  WHERE search MATCH ?1 AND rowid > ?2 AND rowid < ?3 "
        f"{_IN_WORKSPACE if workspace is not None else ''}ORDER BY rank LIMIT ?4"
        ") AS found JOIN events ON events.key = found.rowid JOIN sessions ON sessions.number = found.rowid >> 32 "
        "ORDER BY rank",
        (words, low, high, limit, SNIPPET_WORDS, *([] if workspace is None else [workspace])),
    ).fetchall()
    return hits(rows, lambda snippet: snippet)


def _phrases(text: str) -> str:
    """Each word as a quoted phrase, so that nothing in it is query syntax."""
    words = text.encode("utf-8", "replace").decode().replace("\0", " ").split()
    searchable = [word for word in words if any(character.isalnum() for character in word)]
    return " ".join('"' + word.replace('"', '""') + '"' for word in searchable) + ("*" if searchable else "")
