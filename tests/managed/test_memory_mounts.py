"""Memory stores mounted in sessions, over real storage."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from everyagent.errors import BadRequest, MemoryPathTaken, RecordNotFound
from everyagent.log.records import RecordQuery
from everyagent.managed import Managed
from everyagent.managed.memory import changes
from everyagent.managed.memory.shape import (
    ApiActor,
    Memory,
    MemoryCreate,
    MemoryListQuery,
    MemoryStore,
    MemoryStoreCreate,
    MemoryUpdate,
    MemoryVersion,
    MemoryVersionListQuery,
    SessionActor,
)
from everyagent.managed.resources.environments.shape import EnvironmentCreate, SelfHosted
from everyagent.managed.workspace.shape import FileParams, MemoryStoreParams, RepositoryParams
from tests.managed import services
from tests.waiting import LIMIT_SECONDS

ME = ApiActor()
SESSION = "sesn_1"


@pytest.fixture
async def managed(tmp_path: Path) -> AsyncGenerator[Managed]:
    async with services.managed(tmp_path) as made:
        yield made


async def store_of(managed: Managed, name: str = "Notes", **texts: str) -> MemoryStore:
    store = await managed.memory_stores.create(MemoryStoreCreate(name=name))
    for path, text in texts.items():
        await keep(managed, store, f"/{path}.md", text)
    return store


async def keep(managed: Managed, store: MemoryStore, path: str, text: str) -> Memory:
    return await managed.memories.create(store.id, MemoryCreate(path=path, content=text), ME, "full")


async def change(managed: Managed, store: MemoryStore, memory: Memory, text: str) -> None:
    await managed.memories.update(store.id, memory.id, MemoryUpdate(content=text), ME, "basic")


async def give(managed: Managed, *stores: MemoryStore, session_id: str = SESSION, read_only: bool = False) -> Path:
    """Attach the stores. Returns the folder of the first one."""
    access = "read_only" if read_only else "read_write"
    asked = [MemoryStoreParams(memory_store_id=store.id, access=access) for store in stores]
    given = await managed.resources.give(session_id, asked)
    managed.workspaces.directory(session_id)
    return managed.workspaces.place(session_id, given[0].mount_path)


async def texts(managed: Managed, store: MemoryStore) -> dict[str, str | None]:
    page = await managed.memories.list(store.id, MemoryListQuery(limit=100, view="full"))
    return {each.path: each.content for each in page.data if isinstance(each, Memory)}


async def versions(managed: Managed, store: MemoryStore) -> list[MemoryVersion]:
    """Oldest first."""
    page = await managed.memory_versions.list(store.id, MemoryVersionListQuery(view="full"))
    return page.data[::-1]


async def turn(managed: Managed, session_id: str = SESSION) -> list[str]:
    """The problems reported at the end of an empty turn."""
    return [*await managed.mounts.turn_begins(session_id), *await managed.mounts.turn_over(session_id)]


async def test_a_conflict_keeps_the_agents_text_and_the_other_as_a_version(managed: Managed) -> None:
    store = await store_of(managed)
    memory = await keep(managed, store, "/a.md", "first")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    (folder / "a.md").write_text("the agent's")
    await change(managed, store, memory, "the client's")
    assert await managed.mounts.turn_over(SESSION) == []
    assert await texts(managed, store) == {"/a.md": "the agent's"}
    told = [(each.content, type(each.created_by)) for each in await versions(managed, store)]
    assert told == [("first", ApiActor), ("the client's", ApiActor), ("the agent's", SessionActor)]


async def test_a_memory_deleted_on_one_side_and_changed_on_the_other_stays(managed: Managed) -> None:
    store = await store_of(managed)
    here = await keep(managed, store, "/here.md", "1")
    there = await keep(managed, store, "/there.md", "1")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    (folder / "here.md").unlink()
    await change(managed, store, here, "2")
    (folder / "there.md").write_text("2")
    await managed.memories.delete(store.id, there.id, None, ME)
    assert await managed.mounts.turn_over(SESSION) == []
    assert await texts(managed, store) == {"/here.md": "2", "/there.md": "2"}
    assert sorted(path.name for path in folder.iterdir()) == ["here.md", "there.md"]


async def test_sessions_that_share_a_store_see_each_others_changes(managed: Managed) -> None:
    store = await store_of(managed, a="1")
    mine, yours = await give(managed, store), await give(managed, store, session_id="sesn_2")
    await managed.mounts.turn_begins(SESSION)
    (mine / "new.md").write_text("mine")
    await managed.mounts.settle(store.id)
    await managed.mounts.turn_begins("sesn_2")
    assert (yours / "new.md").read_text() == "mine"
    (yours / "a.md").unlink()
    await managed.mounts.turn_over("sesn_2")
    await managed.mounts.turn_over(SESSION)
    assert sorted(path.name for path in mine.iterdir()) == ["new.md"]


async def test_a_store_that_is_deleted_leaves_the_session_its_folder(managed: Managed) -> None:
    gone, other = await store_of(managed, "Gone", a="1"), await store_of(managed, "Other", b="2")
    folder = await give(managed, gone, other)
    await managed.mounts.turn_begins(SESSION)
    (folder / "mine.md").write_text("mine")
    (folder.parent / "other" / "mine.md").write_text("mine")
    await managed.memory_stores.delete(gone.id)
    (problem,) = await managed.mounts.turn_over(SESSION)
    assert problem == "the memory store 'Gone' was deleted: the files in /mnt/memory/gone are not stored anywhere else"
    assert await turn(managed) == [], "it is reported once"
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "mine.md"]
    assert await texts(managed, other) == {"/b.md": "2", "/mine.md": "mine"}
    with pytest.raises(RecordNotFound):
        await give(managed, gone, session_id="sesn_2")
    assert await managed.resources.of("sesn_2") == []


async def test_an_archived_store_is_read_and_not_written(managed: Managed) -> None:
    store = await store_of(managed, a="1")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    (folder / "a.md").write_text("2")
    (folder / "new.md").write_text("new")
    await managed.memory_stores.archive(store.id)
    assert await managed.mounts.turn_over(SESSION) == [
        "the memory store 'Notes': /a.md is not stored: the store is archived",
        "the memory store 'Notes': /new.md is not stored: the store is archived",
    ]
    assert await texts(managed, store) == {"/a.md": "1"}
    assert [(folder / name).read_text() for name in ("a.md", "new.md")] == ["2", "new"]
    with pytest.raises(BadRequest, match="archived"):
        await give(managed, store, session_id="sesn_2")


async def test_an_invalid_file_is_reported_once_and_stays(managed: Managed, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    store = await store_of(managed, a="1")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    (folder / "a.md").write_bytes(b"\xff")
    (folder / "b.md").symlink_to(tmp_path / "secret")
    (folder / "c\x1b[31m.md").write_text("red")
    (folder / "good.md").write_text("good")
    assert await managed.mounts.turn_over(SESSION) == [
        "the memory store 'Notes': /a.md is not stored: it is not text in UTF-8",
        "the memory store 'Notes': /b.md is not stored: it is no plain file",
        "the memory store 'Notes': '/c\\x1b[31m.md' is not stored: it has a control or format character in it",
    ]
    assert await turn(managed) == []
    assert await texts(managed, store) == {"/a.md": "1", "/good.md": "good"}
    (folder / "a.md").write_text("text again")
    assert await turn(managed) == []
    assert (await texts(managed, store))["/a.md"] == "text again"


async def test_the_number_of_reported_problems_is_limited(managed: Managed) -> None:
    store = await store_of(managed)
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    for n in range(30):
        (folder / f"{n}.bin").write_bytes(b"\xff")
    told = await managed.mounts.turn_over(SESSION)
    assert len(told) == 21
    assert told[-1] == "the memory store 'Notes': 10 more like these"


async def test_a_folder_and_a_file_at_one_path_are_reported(managed: Managed) -> None:
    store = await store_of(managed)
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    await keep(managed, store, "/a/b.md", "the client's")
    (folder / "a").write_text("the agent's")
    taken, blocked = await managed.mounts.turn_over(SESSION)
    assert "/a is not stored: '/a' cannot be: the memory mem_" in taken
    assert blocked == "the memory store 'Notes': /a/b.md could not be written to the folder (Not a directory)"
    assert (folder / "a").read_text() == "the agent's"
    assert await texts(managed, store) == {"/a/b.md": "the client's"}


async def test_a_full_store_is_reported(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_MEMORIES", 2)
    store = await store_of(managed, a="1")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    for name in ("b.md", "c.md"):
        (folder / name).write_text(name)
    (problem,) = await managed.mounts.turn_over(SESSION)
    assert problem == "the memory store 'Notes': /c.md is not stored: A memory store has at most 2 memories."
    with pytest.raises(BadRequest, match="at most 2"):
        await keep(managed, store, "/d.md", "d")


async def test_only_one_of_many_concurrent_creates_gets_a_path(managed: Managed) -> None:
    store = await store_of(managed)
    paths = ["/a", "/a/b", "/a/b/c"] * 5
    outcomes = await asyncio.gather(*(keep(managed, store, path, path) for path in paths), return_exceptions=True)
    assert sum(isinstance(outcome, Memory) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, MemoryPathTaken) for outcome in outcomes) == 14


async def test_memory_and_unsynchronized_changes_survive_a_restart(tmp_path: Path) -> None:
    async with services.managed(tmp_path) as managed:
        store = await store_of(managed, a="1", b="2")
        folder = await give(managed, store)
        await managed.mounts.turn_begins(SESSION)
        (folder / "a.md").write_text("changed")
        (folder / "b.md").unlink()
    async with services.managed(tmp_path) as managed:
        left = await managed.sessions.services.records.page(RecordQuery(kind="open_session_memory"))
        await managed.mounts.recover(left)
        assert await texts(managed, store) == {"/a.md": "changed"}
        assert await managed.sessions.services.records.page(RecordQuery(kind="open_session_memory")) == []


async def test_a_redacted_text_is_removed_from_disk(managed: Managed, tmp_path: Path) -> None:
    store = await store_of(managed)
    memory = await keep(managed, store, "/a.md", "the secret word is xyzzy")
    await change(managed, store, memory, "nothing to see")
    await managed.memory_versions.redact(store.id, memory.memory_version_id, ME)
    with anyio.fail_after(LIMIT_SECONDS):
        while [path for path in tmp_path.rglob("*") if path.is_file() and b"xyzzy" in path.read_bytes()]:
            await anyio.sleep(0.02)


async def test_a_session_has_at_most_eight_stores_and_only_stores_under_mnt_memory(managed: Managed) -> None:
    stores = [await store_of(managed, f"Store {n}") for n in range(9)]
    with pytest.raises(BadRequest, match="at most 8"):
        await give(managed, *stores)
    assert await managed.resources.of(SESSION) == []
    assert await managed.mounts.access(SESSION) == {}
    await give(managed, *stores[:8])
    for params in (
        FileParams(file_id="file_x", mount_path="/mnt/memory/store-1/x"),
        RepositoryParams(url="https://example.com/a", mount_path="/mnt/memory"),
    ):
        with pytest.raises(BadRequest, match="for memory stores"):
            await managed.resources.give("sesn_2", [params])


async def test_the_system_prompt_names_the_memory_folders(managed: Managed) -> None:
    store = await managed.memory_stores.create(MemoryStoreCreate(name="Ada's", description="What Ada likes."))
    rules = await store_of(managed, "規則")
    asked = [
        MemoryStoreParams(memory_store_id=store.id, instructions="Ask her first."),
        MemoryStoreParams(memory_store_id=rules.id, access="read_only"),
    ]
    await managed.resources.give(SESSION, asked)
    agent, place = await services.agent(managed), await services.environment(managed)
    prepared = await managed.workspaces.prepare(SESSION, agent, place, [])
    lines = prepared.note.splitlines()
    first = lines.index(f'Memory "Ada\'s", to read and write: {prepared.directory}/mnt/memory/ada-s')
    assert lines[first + 1 : first + 3] == ["  What Ada likes.", "  Ask her first."]
    assert "Memory '規則', read-only: nothing you write there is kept: " in lines[first + 3]
    assert lines[first + 3].endswith(rules.id.lower().replace("_", "-"))
    hosted = await managed.environments.create(EnvironmentCreate(name="hosted", config=SelfHosted()))
    note = (await managed.workspaces.prepare(SESSION, agent, hosted, [])).note
    assert 'Memory "Ada\'s", to read and write: /mnt/memory/ada-s\n' in note, "on the worker's machine"


async def test_a_deleted_session_removes_its_read_only_folder(managed: Managed) -> None:
    store = await store_of(managed, a="1")
    folder = await give(managed, store, read_only=True)
    assert await turn(managed) == []
    assert (folder / "a.md").stat().st_mode & 0o222 == 0
    assert folder.stat().st_mode & 0o222 == 0
    await managed.workspaces.remove(SESSION)
    assert not folder.exists()
    assert await managed.mounts.access(SESSION) == {}


async def test_a_problem_found_by_a_reader_of_the_store_is_still_reported(managed: Managed) -> None:
    store = await store_of(managed, a="1", b="2")
    folder = await give(managed, store)
    await managed.mounts.turn_begins(SESSION)
    for path in folder.iterdir():
        path.unlink()
    await managed.mounts.settle(store.id)
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "b.md"]
    (problem,) = await managed.mounts.turn_over(SESSION)
    assert problem == (
        "the memory store 'Notes': all files were deleted at once, so they were restored: delete them one by one"
    )
    assert await turn(managed) == []


async def test_changes_of_a_cut_off_turn_are_there_for_the_next_session(managed: Managed) -> None:
    store = await store_of(managed, a="1")
    mine, yours = await give(managed, store), await give(managed, store, session_id="sesn_2")
    await managed.mounts.turn_begins(SESSION)
    (mine / "new.md").write_text("mine")
    await managed.mounts.turn_begins("sesn_2")
    assert (yours / "new.md").read_text() == "mine"
