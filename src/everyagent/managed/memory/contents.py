"""The contents of memories, stored as blobs. Each version owns its content, so that one can be deleted alone."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from everyagent.log.records import Change, Delete, Insert, Records, Replace, Uploaded
from everyagent.managed.memory.changes import PlannedChange, StoredMemory
from everyagent.managed.memory.shape import MemoryActor, MemoryBody, MemoryVersionBody
from everyagent.managed.memory.stores import MEMORY_KIND, VERSION_KIND
from everyagent.model.ids import new_id

#: A record that belongs to a version and owns its content.
CONTENT_KIND = "memory_content"


def content_id(version_id: str) -> str:
    return version_id.replace("memver_", "memtext_")


async def bytes_of(records: Records, sha256: str) -> bytes:
    with await records.blob(bytes.fromhex(sha256)) as file:
        return await asyncio.to_thread(file.read)


async def once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def changes_of(store_id: str, planned: PlannedChange, actor: MemoryActor, uploaded: Uploaded | None) -> list[Change]:
    """The changes of records for a memory, its new version and its content."""
    after, before = planned.after, planned.before
    latest = after or before
    if planned.operation is None or latest is None:
        return []
    body = MemoryVersionBody(
        memory_id=latest.id,
        operation=planned.operation,
        path=latest.path,
        sha256=after.sha256 if after else None,
        size=after.size if after else None,
        created_by=actor,
    )
    version_id = after.version_id if after else new_id("memver_")
    version = Insert(kind=VERSION_KIND, id=version_id, parent=store_id, body=msgspec.json.encode(body))
    if after is None:
        return [Delete(kind=MEMORY_KIND, id=latest.id), version]
    content = Insert(
        kind=CONTENT_KIND,
        id=content_id(version_id),
        parent=version_id,
        body=b"{}",
        uploads=[uploaded] if uploaded else (),
        blobs=() if uploaded else [bytes.fromhex(after.sha256)],
    )
    return [_memory(store_id, after), version, content]


def _memory(store_id: str, after: StoredMemory) -> Insert | Replace:
    body = msgspec.json.encode(MemoryBody(version_id=after.version_id, sha256=after.sha256, size=after.size))
    if after.record is None:
        return Insert(kind=MEMORY_KIND, id=after.id, parent=store_id, key=after.path, body=body)
    return Replace(kind=MEMORY_KIND, id=after.id, version=after.record.version, body=body, key=after.path)
