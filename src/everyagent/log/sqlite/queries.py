"""The reads that SQLite does in its own way."""

from everyagent.log.blobs import Blobs
from everyagent.log.log import EventPage, EventQuery, JoinedPage
from everyagent.log.sql.checksums import RecentChecks
from everyagent.log.sql.spans import EventRange, PageShape
from everyagent.log.sqlite import pages
from everyagent.log.sqlite.connection import Connection
from everyagent.log.sqlite.search import find_text
from everyagent.model.sessions import SearchHit


class SqliteQueries:
    unfinished = "live OR open_turn OR queued_inputs"
    size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    directory = "json_extract(CAST(config AS TEXT), '$.directory')"
    in_directory = f"{directory} = ?"
    has_metadata = "EXISTS (SELECT 1 FROM json_each(CAST(metadata AS TEXT)) WHERE key = ? AND value = ?)"

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._checks = RecentChecks()

    def page(self, connection: Connection, query: EventQuery) -> EventPage:
        return pages.page(connection, self._blobs, query)

    def joined_page(
        self, connection: Connection, session_id: str, query: EventQuery, *, projection: bool
    ) -> JoinedPage:
        return pages.joined_page(connection, self._blobs, self._checks, session_id, query, projection=projection)

    def read_page(self, connection: Connection, span: EventRange, shape: PageShape) -> EventPage:
        return pages.read_page(connection, self._blobs, span, shape)

    def blob(self, connection: Connection, digest: bytes) -> bytes:
        return self._blobs.get(digest)

    def find_text(
        self, connection: Connection, text: str, session: int | None, limit: int, workspace: str | None
    ) -> list[SearchHit]:
        return find_text(connection, text, session, limit, workspace)
