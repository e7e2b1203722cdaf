"""Memories and their versions as clients see them, and who wrote them."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.managed.field_limits import PageLimit

MAX_MEMORIES = 2000
MAX_BYTES = 102_400
#: A page with content has at most this many.
MAX_FULL_PAGE = 20
MemoryView: TypeAlias = Literal["basic", "full"]
Operation: TypeAlias = Literal["created", "modified", "deleted"]
Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class SessionActor(Struct, frozen=True, kw_only=True, tag="session_actor"):
    """The agent of a session."""

    session_id: str


class ApiActor(Struct, frozen=True, kw_only=True, tag="api_actor"):
    """Whoever has the daemon's token: it has one."""

    api_key_id: str = "apikey_everyagent"


MemoryActor: TypeAlias = SessionActor | ApiActor


class Memory(Struct, frozen=True, kw_only=True, tag="memory"):
    """`content` is null in the view `basic`."""

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
    """Stands for all memories below it; it ends with a slash."""

    path: str


class MemoryVersion(Struct, frozen=True, kw_only=True, tag="memory_version"):
    """What it says of the content, and the path, is null once it is redacted."""

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
    """As it is kept; its path is its key."""

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
    """What the memory's content must be for the change to be made."""

    type: Literal["content_sha256"]
    content_sha256: Sha256 | None = None


class MemoryUpdate(Struct, frozen=True, kw_only=True):
    """What is left out stays."""

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
    """By path. A prefix without a slash at its end is what paths begin with."""

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
