"""The reads that PostgreSQL does in its own way."""

from everyagent.log.log import EventPage, EventQuery, JoinedPage
from everyagent.log.postgres import pages
from everyagent.log.postgres.blobs import BlobReader
from everyagent.log.postgres.connection import Connection
from everyagent.log.postgres.search import find_text
from everyagent.log.sql.spans import EventRange, PageShape
from everyagent.model.sessions import SearchHit


class PostgresQueries:
    unfinished = "live <> 0 OR open_turn <> 0 OR queued_inputs <> 0"
    size = "SELECT pg_database_size(current_database())"
    directory = "convert_from(config, 'UTF8')::json ->> 'directory'"
    in_directory = f"{directory} = ?"
    has_metadata = "convert_from(metadata, 'UTF8')::json ->> ?::text = ?"

    def __init__(self, blobs: BlobReader) -> None:
        self._blobs = blobs

    def page(self, connection: Connection, query: EventQuery) -> EventPage:
        return pages.page(connection, self._blobs, query)

    def joined_page(
        self, connection: Connection, session_id: str, query: EventQuery, *, projection: bool
    ) -> JoinedPage:
        return pages.joined_page(connection, self._blobs, session_id, query, projection=projection)

    def read_page(self, connection: Connection, span: EventRange, shape: PageShape) -> EventPage:
        return pages.read_page(connection, self._blobs, span, shape)

    def blob(self, connection: Connection, digest: bytes) -> bytes:
        return self._blobs.get(connection, digest)

    def find_text(
        self, connection: Connection, text: str, session: int | None, limit: int, workspace: str | None
    ) -> list[SearchHit]:
        return find_text(connection, text, session, limit, workspace)
