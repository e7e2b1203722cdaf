"""The `Records` protocol: JSON documents by kind and id, in the same storage as the sessions.

Called by `managed/`. `testing/log_rules/recording.py` holds every implementation to it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType

if TYPE_CHECKING:
    from everyagent.log.audit import AuditEntry

#: The workspace of everything that names no other.
DEFAULT_WORKSPACE: Final = "default"


class Record(Struct, frozen=True, kw_only=True):
    """`number` rises with each record made; `version` starts at 1 and rises with each change.

    `parent` is the id of the record it belongs to, empty for none: it is deleted with its parent. `key` is
    unique among the records of its workspace, kind and parent. Times are microseconds; `body` is encoded JSON,
    `secret` sealed.
    """

    number: int
    kind: str
    id: str
    parent: str
    key: str | None
    version: int
    created_at: int
    updated_at: int
    archived_at: int | None
    body: bytes
    secret: bytes | None
    workspace: str = DEFAULT_WORKSPACE


class Uploaded(NamedTuple):
    """Bytes on disk that do not belong to a record yet."""

    path: Path
    digest: bytes
    size: int


class Insert(Struct, frozen=True, kw_only=True):
    """A new record. Its uploads, and blobs that it shares with other records, are kept until it is deleted.

    It gets the workspace of its parent, if that is a record or a session; else the given one.
    """

    kind: str
    id: str
    body: bytes
    parent: str = ""
    key: str | None = None
    secret: bytes | None = None
    uploads: Sequence[Uploaded] = ()
    blobs: Sequence[bytes] = ()
    workspace: str = DEFAULT_WORKSPACE


class Replace(Struct, frozen=True, kw_only=True):
    """New values for a record, if its version is still `version`. Unset fields do not change."""

    kind: str
    id: str
    version: int
    body: bytes
    key: str | UnsetType | None = UNSET
    secret: bytes | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET


class Delete(Struct, frozen=True, kw_only=True):
    """Deletes a record and everything that belongs to it."""

    kind: str
    id: str


Change: TypeAlias = Insert | Replace | Delete


class RecordQuery(Struct, frozen=True, kw_only=True):
    """`after` is the number of the last record of the page before, in the order asked for.

    `since` and `until` are microseconds, both inclusive. `ids` narrows it to these, `workspace` to those in it.
    """

    kind: str
    parent: str | None = None
    ids: Sequence[str] | None = None
    after: int | None = None
    order: Literal["asc", "desc"] = "desc"
    limit: int = 20
    archived: bool = False
    since: int | None = None
    until: int | None = None
    workspace: str | None = None


class Records(Protocol):
    """Errors: `RecordNotFound`, `RecordExists` (its id or key is taken), `RecordChanged`, `StorageFull`."""

    async def write(self, *changes: Change, audit: "AuditEntry | None" = None) -> list[Record]:
        """Commits all changes or none. Returns the inserted and replaced records."""
        ...

    async def find(self, kind: str, id: str) -> Record: ...
    async def page(self, query: RecordQuery) -> list[Record]:
        """At most `limit + 1` records: the last one only shows that there is another page."""
        ...

    async def count(self, kind: str, parent: str) -> int:
        """The number of records that are not archived."""
        ...

    def upload(self, pieces: AsyncIterator[bytes]) -> AbstractAsyncContextManager[Uploaded]:
        """Writes bytes to disk in pieces. They are deleted after the block unless a record was inserted with them."""
        ...

    async def blob(self, digest: bytes) -> BinaryIO:
        """Opens a blob, which stays readable if its record is deleted. Raises `RecordNotFound` if it is gone."""
        ...
