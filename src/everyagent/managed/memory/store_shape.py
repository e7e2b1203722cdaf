"""A memory store as clients see it."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from everyagent.managed.field_limits import PageLimit

StoreName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
StoreDescription: TypeAlias = Annotated[str, Meta(max_length=1024)]


class StoreBody(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    metadata: dict[str, str]


class MemoryStore(StoreBody, frozen=True, kw_only=True, tag="memory_store"):
    id: str
    created_at: str
    updated_at: str
    archived_at: str | None


class StoreCreate(Struct, frozen=True, kw_only=True):
    name: StoreName
    description: StoreDescription | None = None
    metadata: dict[str, str] | None = None


class StoreUpdate(Struct, frozen=True, kw_only=True):
    """What is left out stays. A metadata value of null removes that key."""

    name: StoreName | None = None
    description: StoreDescription | None = None
    metadata: dict[str, str | None] | None = None


class StoreList(Struct, frozen=True, kw_only=True):
    created_at_gte: datetime | None = None
    created_at_lte: datetime | None = None
    include_archived: bool = False
    limit: PageLimit = 20
    page: str | None = None
