"""Plans changes to the memories of a store, and refuses invalid ones. Pure."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, assert_never

import msgspec
from msgspec import Struct

from everyagent.errors import BadRequest, MemoryChanged, MemoryPathTaken, NotFound
from everyagent.log.records import Record
from everyagent.managed.memory.paths import checked_path, folders_of
from everyagent.managed.memory.shape import MAX_BYTES, MAX_MEMORIES, MemoryBody, Operation
from everyagent.model.ids import new_id


class CreateMemory(Struct, frozen=True, kw_only=True):
    path: str
    content: bytes


class UpdateMemory(Struct, frozen=True, kw_only=True):
    """A field that is None does not change; `expected` is the SHA-256 that the content must have before."""

    id: str
    path: str | None = None
    content: bytes | None = None
    expected: str | None = None


class RemoveMemory(Struct, frozen=True, kw_only=True):
    id: str
    expected: str | None = None


MemoryChange: TypeAlias = CreateMemory | UpdateMemory | RemoveMemory


class StoredMemory(NamedTuple):
    """A memory; `record` is None until it is stored."""

    id: str
    path: str
    sha256: str
    size: int
    version_id: str
    record: Record | None


class PlannedChange(NamedTuple):
    """`operation` is None if nothing changes, `after` is None for a removal; `content` is set if it changes."""

    operation: Operation | None
    before: StoredMemory | None
    after: StoredMemory | None
    content: bytes | None


class MemoryIndex:
    def __init__(self, store_id: str, records: Iterable[Record]) -> None:
        self._store_id = store_id
        self._held: dict[str, StoredMemory] = {}
        self._ids: dict[str, str] = {}
        self._folders: Counter[str] = Counter()
        for record in records:
            self._add(held(record))

    def by_path(self) -> dict[str, StoredMemory]:
        return {each.path: each for each in self._held.values()}

    def plan(self, change: MemoryChange) -> PlannedChange:
        """Plans a change on top of the earlier ones."""
        match change:
            case CreateMemory():
                return self._create(change)
            case UpdateMemory():
                return self._update(change)
            case RemoveMemory():
                before = self.at(change.id, change.expected)
                self._drop(before)
                return PlannedChange("deleted", before, None, None)
            case _:
                assert_never(change)

    def _create(self, change: CreateMemory) -> PlannedChange:
        if len(self._held) >= MAX_MEMORIES:
            raise BadRequest(f"A memory store has at most {MAX_MEMORIES} memories.", error_code="memory_limit_reached")
        self._refuse_taken(checked_path(change.path))
        after = _with(change.content, new_id("mem_"), change.path, None)
        self._add(after)
        return PlannedChange("created", None, after, change.content)

    def _update(self, change: UpdateMemory) -> PlannedChange:
        before = self.at(change.id)
        path = before.path if change.path is None else checked_path(change.path)
        after = before._replace(path=path, version_id=new_id("memver_"))
        if change.content is not None:
            after = _with(change.content, before.id, path, before.record)
        if (after.path, after.sha256) == (before.path, before.sha256):
            return PlannedChange(None, before, before, None)
        self.at(change.id, change.expected)
        self._drop(before)
        try:
            self._refuse_taken(path)
        except MemoryPathTaken:
            self._add(before)
            raise
        self._add(after)
        return PlannedChange("modified", before, after, None if after.sha256 == before.sha256 else change.content)

    def at(self, memory_id: str, expected: str | None = None) -> StoredMemory:
        found = self._held.get(memory_id)
        if found is None:
            raise NotFound(f"There is no memory {memory_id!r} in the memory store {self._store_id!r}.")
        if expected not in (None, found.sha256):
            raise MemoryChanged(
                f"The content of {memory_id} is not {expected} but {found.sha256}: it was changed meanwhile. Read it "
                "again and retry.",
                content_sha256=found.sha256,
            )
        return found

    def _add(self, memory: StoredMemory) -> None:
        self._held[memory.id] = memory
        self._ids[memory.path] = memory.id
        self._folders.update(folders_of(memory.path))

    def _drop(self, memory: StoredMemory) -> None:
        del self._held[memory.id], self._ids[memory.path]
        self._folders.subtract(folders_of(memory.path))

    def _refuse_taken(self, path: str) -> None:
        """A path cannot be a file and a folder at once."""
        taken = next((each for each in (path, *folders_of(path)) if each in self._ids), None)
        if taken is None and self._folders[path]:
            taken = next(each for each in self._ids if each.startswith(f"{path}/"))
        if taken is not None:
            raise MemoryPathTaken(
                f"{path!r} cannot be: the memory {self._ids[taken]} lies at {taken!r}.",
                conflicting_memory_id=self._ids[taken],
                conflicting_path=taken,
            )


def held(record: Record) -> StoredMemory:
    body = msgspec.json.decode(record.body, type=MemoryBody)
    return StoredMemory(record.id, record.key or "", body.sha256, body.size, body.version_id, record)


def _with(content: bytes, memory_id: str, path: str, record: Record | None) -> StoredMemory:
    if len(content) > MAX_BYTES:
        raise BadRequest(
            f"A memory has at most {MAX_BYTES} bytes; this has {len(content)}. Make several of it.", field="content"
        )
    return StoredMemory(memory_id, path, hashlib.sha256(content).hexdigest(), len(content), new_id("memver_"), record)
