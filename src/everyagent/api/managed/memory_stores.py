"""Memory stores, their memories, and the versions of these."""

from everyagent.api.managed.actors import actor_of
from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.memory.memory_shape import (
    Memory,
    MemoryCreate,
    MemoryDelete,
    MemoryListQuery,
    MemoryPrefix,
    MemoryUpdate,
    MemoryVersion,
    MemoryVersionListQuery,
    OneView,
    WrittenView,
)
from everyagent.managed.memory.store_shape import MemoryStore, MemoryStoreCreate, MemoryStoreUpdate
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import DatedListQuery, Deleted

routes = Routes("managed memory stores")
_STORE = "/anthropic/v1/memory_stores/{memory_store_id}"
_MEMORY = _STORE + "/memories/{memory_id}"
_VERSION = _STORE + "/memory_versions/{memory_version_id}"


@routes.add("POST", "/anthropic/v1/memory_stores", effect=True)
async def create_memory_store(call: Call[Nothing, MemoryStoreCreate]) -> MemoryStore:
    """Make a memory store."""
    return await call.managed.memory_stores.create(call.body)


@routes.add("GET", "/anthropic/v1/memory_stores")
async def list_memory_stores(call: Call[DatedListQuery, Nothing]) -> Page[MemoryStore]:
    """Memory stores, the newest first."""
    return await call.managed.memory_stores.list(call.query)


@routes.add("GET", _STORE, NotFound)
async def retrieve_memory_store(call: Call[Nothing, Nothing]) -> MemoryStore:
    """A memory store."""
    return await call.managed.memory_stores.retrieve(_store(call.path))


@routes.add("POST", _STORE, NotFound, effect=True)
async def update_memory_store(call: Call[Nothing, MemoryStoreUpdate]) -> MemoryStore:
    """Another name, description, other metadata; sessions that have it keep what they were told."""
    return await call.managed.memory_stores.update(_store(call.path), call.body)


@routes.add("DELETE", _STORE, NotFound)
async def delete_memory_store(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete it with all memories and versions; sessions that have it keep their folder, which is kept nowhere else."""
    return await call.managed.memory_stores.delete(_store(call.path))


@routes.add("POST", _STORE + "/archive", NotFound, effect=True)
async def archive_memory_store(call: Call[Nothing, Nothing]) -> MemoryStore:
    """From now on nothing in it is made or changed, and no new session gets it."""
    await call.managed.mounts.settle(_store(call.path))
    return await call.managed.memory_stores.archive(_store(call.path))


@routes.add("POST", _STORE + "/memories", NotFound, Conflict, effect=True)
async def create_memory(call: Call[WrittenView, MemoryCreate]) -> Memory:
    """Keep a text at a path where nothing is."""
    store_id = _store(call.path)
    return await call.managed.memories.create(
        store_id, call.body, actor_of(call.scope, call.managed.keys), call.query.view
    )


@routes.add("GET", _STORE + "/memories", NotFound)
async def list_memories(call: Call[MemoryListQuery, Nothing]) -> Page[Memory | MemoryPrefix]:
    """Memories by path; with a `depth`, what lies deeper is told by its folder."""
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
    """Another text, another path, or both, if it still says what the precondition says."""
    store_id, memory_id = _store(call.path), call.path["memory_id"]
    return await call.managed.memories.update(
        store_id, memory_id, call.body, actor_of(call.scope, call.managed.keys), call.query.view
    )


@routes.add("PATCH", _MEMORY, NotFound, Conflict, effect=True)
async def patch_memory(call: Call[WrittenView, MemoryUpdate]) -> Memory:
    """The same, for those who call it so."""
    return await update_memory(call)


@routes.add("DELETE", _MEMORY, NotFound, Conflict)
async def delete_memory(call: Call[MemoryDelete, Nothing]) -> Deleted:
    """Delete a memory; its versions stay."""
    store_id, expected = _store(call.path), call.query.expected_content_sha256
    return await call.managed.memories.delete(
        store_id, call.path["memory_id"], expected, actor_of(call.scope, call.managed.keys)
    )


@routes.add("GET", _STORE + "/memory_versions", NotFound)
async def list_memory_versions(call: Call[MemoryVersionListQuery, Nothing]) -> Page[MemoryVersion]:
    """Every change of the store's memories, the newest first."""
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
    """Its text is gone for good; who wrote it and when stays."""
    version_id = call.path["memory_version_id"]
    return await call.managed.memory_versions.redact(
        _store(call.path), version_id, actor_of(call.scope, call.managed.keys)
    )


def _store(path: dict[str, str]) -> str:
    return path["memory_store_id"]
