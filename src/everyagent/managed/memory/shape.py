"""The wire types of memory stores, memories and their versions."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.managed.field_limits import PageLimit

MAX_MEMORIES = 2000
MAX_BYTES = 102_400
#: The largest page of memories with their contents.
MAX_FULL_PAGE = 20
MemoryView: TypeAlias = Literal["basic", "full"]
Operation: TypeAlias = Literal["created", "modified", "deleted"]
StoreName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
StoreDescription: TypeAlias = Annotated[str, Meta(max_length=1024)]
Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class SessionActor(Struct, frozen=True, kw_only=True, tag="session_actor"):
    """The agent of a session."""

    session_id: str


class ApiActor(Struct, frozen=True, kw_only=True, tag="api_actor"):
    """The holder of the daemon's token."""

    api_key_id: str = "apikey_everyagent"


MemoryActor: TypeAlias = SessionActor | ApiActor


class Memory(Struct, frozen=True, kw_only=True, tag="memory"):
    """`content` is null in the `basic` view."""

    id: str
    memory_store_id: str
    memory_version_id: str
    path: str
    content_sha256: str
    content_size_bytes: int
    content: str | None
    created_at: str
    updated_at: str


class MemoryPrefix(Struct, frozen=True, kw_only=True, tag="memory_prefix"):
    """All memories below this path, which ends with a slash."""

    path: str


class MemoryVersion(Struct, frozen=True, kw_only=True, tag="memory_version"):
    """The path and the content fields are null once it is redacted."""

    id: str
    memory_id: str
    memory_store_id: str
    operation: Operation
    path: str | None
    content_sha256: str | None
    content_size_bytes: int | None
    content: str | None
    created_at: str
    created_by: MemoryActor | None
    redacted_at: str | None
    redacted_by: MemoryActor | None


class MemoryBody(Struct, frozen=True, kw_only=True):
    """The stored part; the path is the record's key."""

    version_id: str
    sha256: str
    size: int


class MemoryVersionBody(Struct, frozen=True, kw_only=True):
    memory_id: str
    operation: Operation
    path: str | None
    sha256: str | None
    size: int | None
    created_by: MemoryActor
    redacted_at: int | None = None
    redacted_by: MemoryActor | None = None


class MemoryCreate(Struct, frozen=True, kw_only=True):
    path: str
    content: str | None


class Precondition(Struct, frozen=True, kw_only=True):
    """The content that the memory must have for the change to be made."""

    type: Literal["content_sha256"]
    content_sha256: Sha256 | None = None


class MemoryUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are."""

    content: str | None = None
    path: str | None = None
    precondition: Precondition | None = None


class OneView(Struct, frozen=True, kw_only=True):
    view: MemoryView = "full"


class WrittenView(Struct, frozen=True, kw_only=True):
    view: MemoryView = "basic"


class MemoryDelete(Struct, frozen=True, kw_only=True):
    expected_content_sha256: Sha256 | None = None


class MemoryListQuery(Struct, frozen=True, kw_only=True):
    """Ordered by path. `path_prefix` matches whole paths as text."""

    path_prefix: str = "/"
    depth: Annotated[int, Meta(ge=0, le=100)] = 0
    order: Literal["asc", "desc"] = "asc"
    limit: PageLimit = 20
    page: str | None = None
    view: MemoryView = "basic"


class MemoryVersionListQuery(Struct, frozen=True, kw_only=True):
    memory_id: str | None = None
    operation: Operation | None = None
    session_id: str | None = None
    api_key_id: str | None = None
    service_account_id: str | None = None
    created_at_gte: datetime | None = None
    created_at_lte: datetime | None = None
    limit: PageLimit = 20
    page: str | None = None
    view: MemoryView = "basic"


class MemoryStoreBody(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    metadata: dict[str, str]


class MemoryStore(MemoryStoreBody, frozen=True, kw_only=True, tag="memory_store"):
    id: str
    created_at: str
    updated_at: str
    archived_at: str | None


class MemoryStoreCreate(Struct, frozen=True, kw_only=True):
    name: StoreName
    description: StoreDescription | None = None
    metadata: dict[str, str] | None = None


class MemoryStoreUpdate(Struct, frozen=True, kw_only=True):
    """Omitted fields stay as they are. A null metadata value removes its key."""

    name: StoreName | None = None
    description: StoreDescription | None = None
    metadata: dict[str, str | None] | None = None
