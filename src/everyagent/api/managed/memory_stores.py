"""Routes of memory stores, memories and memory versions."""

from typing import TypeVar

from everyagent.api.access_control import tokens
from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.memory.shape import (
    ApiActor,
    Memory,
    MemoryActor,
    MemoryCreate,
    MemoryDelete,
    MemoryListQuery,
    MemoryPrefix,
    MemoryStore,
    MemoryStoreCreate,
    MemoryStoreUpdate,
    MemoryUpdate,
    MemoryVersion,
    MemoryVersionListQuery,
    OneView,
    SessionActor,
    WrittenView,
)
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import DatedListQuery, Deleted
from everyagent.model.principals import OWNER_ID, current

Q = TypeVar("Q")
B = TypeVar("B")

routes = Routes("managed memory stores")
_STORE = "/anthropic/v1/memory_stores/{memory_store_id}"
_MEMORY = _STORE + "/memories/{memory_id}"
_VERSION = _STORE + "/memory_versions/{memory_version_id}"


@routes.add("POST", "/anthropic/v1/memory_stores", effect=True)
async def create_memory_store(call: Call[Nothing, MemoryStoreCreate]) -> MemoryStore:
    """Create a memory store."""
    return await call.managed.memory_stores.create(call.body)


@routes.add("GET", "/anthropic/v1/memory_stores")
async def list_memory_stores(call: Call[DatedListQuery, Nothing]) -> Page[MemoryStore]:
    """List memory stores, newest first."""
    return await call.managed.memory_stores.list(call.query)


@routes.add("GET", _STORE, NotFound)
async def retrieve_memory_store(call: Call[Nothing, Nothing]) -> MemoryStore:
    """A memory store."""
    return await call.managed.memory_stores.retrieve(_store(call.path))


@routes.add("POST", _STORE, NotFound, effect=True)
async def update_memory_store(call: Call[Nothing, MemoryStoreUpdate]) -> MemoryStore:
    """Update name, description or metadata. Existing sessions keep the old ones."""
    return await call.managed.memory_stores.update(_store(call.path), call.body)


@routes.add("DELETE", _STORE, NotFound)
async def delete_memory_store(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a store with its memories and versions. Sessions that have it keep only their folder."""
    return await call.managed.memory_stores.delete(_store(call.path))


@routes.add("POST", _STORE + "/archive", NotFound, effect=True)
async def archive_memory_store(call: Call[Nothing, Nothing]) -> MemoryStore:
    """Archive a store. It takes no changes and no new sessions."""
    await call.managed.mounts.settle(_store(call.path))
    return await call.managed.memory_stores.archive(_store(call.path))


@routes.add("POST", _STORE + "/memories", NotFound, Conflict, effect=True)
async def create_memory(call: Call[WrittenView, MemoryCreate]) -> Memory:
    """Create a memory at a free path."""
    store_id = _store(call.path)
    return await call.managed.memories.create(store_id, call.body, _actor(call), call.query.view)


@routes.add("GET", _STORE + "/memories", NotFound)
async def list_memories(call: Call[MemoryListQuery, Nothing]) -> Page[Memory | MemoryPrefix]:
    """List memories by path; with a `depth`, deeper ones are listed by their folder."""
    if call.query.page is None:
        await call.managed.mounts.settle(_store(call.path))
    return await call.managed.memories.list(_store(call.path), call.query)


@routes.add("GET", _MEMORY, NotFound)
async def retrieve_memory(call: Call[OneView, Nothing]) -> Memory:
    """A memory."""
    await call.managed.mounts.settle(_store(call.path))
    return await call.managed.memories.retrieve(_store(call.path), call.path["memory_id"], call.query.view)


@routes.add("POST", _MEMORY, NotFound, Conflict, effect=True)
async def update_memory(call: Call[WrittenView, MemoryUpdate]) -> Memory:
    """Change the content or the path, if the precondition holds."""
    store_id, memory_id = _store(call.path), call.path["memory_id"]
    return await call.managed.memories.update(store_id, memory_id, call.body, _actor(call), call.query.view)


@routes.add("PATCH", _MEMORY, NotFound, Conflict, effect=True)
async def patch_memory(call: Call[WrittenView, MemoryUpdate]) -> Memory:
    """Alias of the `POST`."""
    return await update_memory(call)


@routes.add("DELETE", _MEMORY, NotFound, Conflict)
async def delete_memory(call: Call[MemoryDelete, Nothing]) -> Deleted:
    """Delete a memory. Its versions stay."""
    store_id, expected = _store(call.path), call.query.expected_content_sha256
    return await call.managed.memories.delete(store_id, call.path["memory_id"], expected, _actor(call))


@routes.add("GET", _STORE + "/memory_versions", NotFound)
async def list_memory_versions(call: Call[MemoryVersionListQuery, Nothing]) -> Page[MemoryVersion]:
    """List the changes of the store's memories, newest first."""
    if call.query.page is None:
        await call.managed.mounts.settle(_store(call.path))
    return await call.managed.memory_versions.list(_store(call.path), call.query)


@routes.add("GET", _VERSION, NotFound)
async def retrieve_memory_version(call: Call[OneView, Nothing]) -> MemoryVersion:
    """A version."""
    version_id = call.path["memory_version_id"]
    return await call.managed.memory_versions.retrieve(_store(call.path), version_id, call.query.view)


@routes.add("POST", _VERSION + "/redact", NotFound, effect=True)
async def redact_memory_version(call: Call[Nothing, Nothing]) -> MemoryVersion:
    """Delete a version's text for good. Its author and time stay."""
    version_id = call.path["memory_version_id"]
    return await call.managed.memory_versions.redact(_store(call.path), version_id, _actor(call))


def _actor(call: Call[Q, B]) -> MemoryActor:
    """The session whose worker's key the request carries; else the API key, or the owner."""
    for token in tokens(call.scope["headers"]):
        if session_id := call.managed.keys.session_of(token.decode("latin-1")):
            return SessionActor(session_id=session_id)
    key_id = current().key_id
    return ApiActor(api_key_id=key_id) if key_id != OWNER_ID else ApiActor()


def _store(path: dict[str, str]) -> str:
    return path["memory_store_id"]
