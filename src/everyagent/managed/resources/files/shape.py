"""The wire types of files."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from everyagent.managed.field_limits import LongPageLimit

ExpiresIn: TypeAlias = Annotated[int, Meta(ge=3600, le=7_776_000)]


class FileScope(Struct, frozen=True, kw_only=True, tag="session"):
    """The session that the file belongs to."""

    id: str


class File(Struct, frozen=True, kw_only=True, tag="file"):
    id: str
    filename: str
    mime_type: str
    size_bytes: int
    created_at: str
    expires_at: str | None
    downloadable: bool
    scope: FileScope | None


class FileBody(Struct, frozen=True, kw_only=True):
    """The stored part. `digest` is the SHA-256 of the content; `source` is its path in the session that made it."""

    filename: str
    mime_type: str
    size_bytes: int
    digest: str
    expires_at: int | None = None
    source: str | None = None
    modified_ns: int = 0


class FileListQuery(Struct, frozen=True, kw_only=True):
    """Paged by `page`, or by `after_id` and `before_id` for older SDKs."""

    ids: Annotated[list[str], Meta(max_length=100)] | None = None
    scope_id: str | None = None
    limit: LongPageLimit | None = None
    page: str | None = None
    after_id: str | None = None
    before_id: str | None = None


class FilePage(Struct, frozen=True, kw_only=True):
    """A page with the cursors of newer and older SDKs."""

    data: list[File]
    next_page: str | None
    has_more: bool
    first_id: str | None
    last_id: str | None
