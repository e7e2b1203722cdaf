"""Memory stores: memories by path, versions, refusals and redaction."""

import hashlib
from collections.abc import Iterable

import anthropic
from loose import Loose
from refused import refused

NEW = not anthropic.__version__.startswith("0.")
SECRET = "the cake is a lie"


def flow(client: Loose) -> None:
    stores = client.beta.memory_stores
    store = stores.create(name="User Preferences", description="What Ada likes.", metadata={"user": "ada"})
    assert (store.type, store.name, store.archived_at) == ("memory_store", "User Preferences", None)
    changed = stores.update(store.id, description="", metadata={"user": None, "x": "y"})
    assert (changed.name, changed.description, changed.metadata) == ("User Preferences", "", {"x": "y"})
    assert stores.retrieve(store.id).metadata == {"x": "y"}
    refused(anthropic.BadRequestError, lambda: stores.create(name="two\nlines"))
    memory = memories(stores, store.id)
    listing(stores.memories, store.id)
    versions(stores, store.id, memory)
    archive_and_delete(stores, store)


def memories(stores: Loose, store_id: Loose) -> Loose:
    kept = stores.memories
    made = kept.create(store_id, path="/food/cake.md", content=SECRET)
    assert (made.path, made.content, made.content_size_bytes) == ("/food/cake.md", None, len(SECRET))
    assert made.content_sha256 == sha(SECRET)
    assert kept.create(store_id, path="/empty", content="", view="full").content == ""
    error = refused(anthropic.ConflictError, lambda: kept.create(store_id, path="/food/cake.md", content="x"))
    assert error.body["error"]["type"] == "memory_path_conflict_error"
    assert error.body["error"]["conflicting_memory_id"] == made.id
    for path in ("/food", "/food/cake.md/slice"):
        error = refused(anthropic.ConflictError, lambda path=path: kept.create(store_id, path=path, content="x"))
        assert error.body["error"]["conflicting_path"] == "/food/cake.md"
    for path in ("food", "/", "/a//b", "/a/../b", "/a\u202eb", "/e\u0301", "/x" * 21, "/" + "x" * 1024):
        refused(anthropic.BadRequestError, lambda path=path: kept.create(store_id, path=path, content="x"))
    refused(anthropic.BadRequestError, lambda: kept.create(store_id, path="/big", content="x" * 102_401))
    there = {"memory_store_id": store_id}
    assert kept.retrieve(made.id, **there).content == SECRET
    assert kept.retrieve(made.id, **there, view="basic").content is None
    old = {"type": "content_sha256", "content_sha256": sha("something else")}
    error = refused(anthropic.ConflictError, lambda: kept.update(made.id, **there, content="y", precondition=old))
    assert error.body["error"]["type"] == "memory_precondition_failed_error"
    assert error.response.headers["x-should-retry"] == "false"
    same = kept.update(made.id, **there, content=SECRET, precondition=old)
    assert same.memory_version_id == made.memory_version_id, "nothing was to be changed"
    now = {"type": "content_sha256", "content_sha256": made.content_sha256}
    changed = kept.update(made.id, **there, content="Ada likes cake. 🍰", precondition=now, view="full")
    assert (changed.id, changed.content, changed.path) == (made.id, "Ada likes cake. 🍰", "/food/cake.md")
    moved = kept.update(made.id, **there, path="/food/sweet/cake.md")
    assert (moved.id, moved.content_sha256) == (made.id, changed.content_sha256)
    refused(anthropic.NotFoundError, lambda: kept.retrieve(made.id, memory_store_id="memstore_other"))
    return moved


def listing(kept: Loose, store_id: Loose) -> None:
    for n in range(22):
        kept.create(store_id, path=f"/many/{n:02}/note.md", content=str(n))
    assert len(paths(kept.list(store_id))) == 24
    assert paths(kept.list(store_id, depth=1)) == ["/empty", "/food/", "/many/"]
    assert paths(kept.list(store_id, depth=1, limit=1)) == ["/empty", "/food/", "/many/"]
    assert paths(kept.list(store_id, path_prefix="/food/", depth=2)) == ["/food/sweet/cake.md"]
    assert paths(kept.list(store_id, path_prefix="/food/", depth=1)) == ["/food/sweet/"]
    assert paths(kept.list(store_id, path_prefix="/foo/")) == []
    page = kept.list(store_id, path_prefix="/many/", view="full", limit=100)
    assert [each.content for each in page.data] == [str(n) for n in range(20)]
    assert [each.content for each in page] == [str(n) for n in range(22)]
    if not NEW:
        assert paths(kept.list(store_id, depth=1, order="desc", limit=2)) == ["/many/", "/food/", "/empty"]
    refused(anthropic.BadRequestError, lambda: kept.list(store_id, page="page_x"))


def versions(stores: Loose, store_id: Loose, memory: Loose) -> None:
    there, written = {"memory_store_id": store_id}, stores.memory_versions
    moved, changed, made = written.list(store_id, memory_id=memory.id, limit=1)
    assert [each.operation for each in (moved, changed, made)] == ["modified", "modified", "created"]
    assert moved.id == memory.memory_version_id
    assert (moved.path, changed.path, made.content) == ("/food/sweet/cake.md", "/food/cake.md", None)
    assert made.created_by.type == "api_actor"
    assert written.retrieve(made.id, **there).content == SECRET
    by_key = {"api_key_id": made.created_by.api_key_id, "operation": "modified"}
    assert [each.id for each in written.list(store_id, **by_key)] == [moved.id, changed.id]
    assert list(written.list(store_id, session_id="sesn_nobody")) == []
    assert list(written.list(store_id, created_at_gte="2100-01-01T00:00:00Z")) == []
    assert len(written.list(store_id, view="full", limit=100).data) == 20
    refused(anthropic.BadRequestError, lambda: written.redact(moved.id, **there))
    gone = written.redact(made.id, **there)
    assert (gone.content, gone.path, gone.content_sha256, gone.content_size_bytes) == (None, None, None, None)
    assert (gone.redacted_by.type, gone.created_by.type) == ("api_actor", "api_actor")
    assert written.redact(made.id, **there).redacted_at == gone.redacted_at
    assert written.retrieve(made.id, **there).content is None
    other = {"expected_content_sha256": sha("other")}
    refused(anthropic.ConflictError, lambda: stores.memories.delete(memory.id, **there, **other))
    deleted = stores.memories.delete(memory.id, **there, expected_content_sha256=memory.content_sha256)
    assert (deleted.id, deleted.type) == (memory.id, "memory_deleted")
    last = next(iter(written.list(store_id, memory_id=memory.id, view="full")))
    assert (last.operation, last.path, last.content) == ("deleted", "/food/sweet/cake.md", None)
    assert last.content_sha256 is None
    assert written.redact(moved.id, **there).redacted_at, "nothing says it any more"
    refused(anthropic.NotFoundError, lambda: stores.memories.retrieve(memory.id, **there))


def archive_and_delete(stores: Loose, store: Loose) -> None:
    assert store.id in [each.id for each in stores.list(limit=1)]
    assert stores.archive(store.id).archived_at is not None
    assert store.id not in [each.id for each in stores.list()]
    assert store.id in [each.id for each in stores.list(include_archived=True)]
    refused(anthropic.BadRequestError, lambda: stores.update(store.id, name="x"))
    refused(anthropic.BadRequestError, lambda: stores.memories.create(store.id, path="/x", content="x"))
    first = next(iter(stores.memories.list(store.id)))
    assert stores.memories.delete(first.id, memory_store_id=store.id).id == first.id
    assert stores.delete(store.id).type == "memory_store_deleted"
    refused(anthropic.NotFoundError, lambda: stores.retrieve(store.id))
    refused(anthropic.NotFoundError, lambda: stores.memories.list(store.id))


def paths(listed: Iterable[Loose]) -> list[str]:
    return [str(each.path) for each in listed]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
