"""A memory store as clients see it."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

StoreName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
StoreDescription: TypeAlias = Annotated[str, Meta(max_length=1024)]


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
    """What is left out stays. A metadata value of null removes that key."""

    name: StoreName | None = None
    description: StoreDescription | None = None
    metadata: dict[str, str | None] | None = None
