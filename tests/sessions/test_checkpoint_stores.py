"""The stores of checkpoints: what they keep, for how long, and whose they are."""

import os
import shutil
from pathlib import Path

import pytest

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import BadRequest, GitFailed
from everyagent.git import checkpoints as kept
from everyagent.git.commands import Git
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.parts import StatusPart
from everyagent.sessions.limits import Limits
from tests.postgres.server import PostgresServer
from tests.sessions.conftest import Opened, Talk
from tests.sessions.test_checkpoints import begun, ends, files, rewound, run
from tests.sessions.test_worktrees import run as started


async def test_a_large_directory_is_skipped_and_the_session_says_so(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 100)
    async with opened() as sessions:
        folder = tmp_path / "work"
        talk = await begun(sessions, folder)
        (folder / ".gitignore").write_text("build\n")
        (folder / "build").write_text("x" * 200)
        await run(talk, "echo one > a.txt")
        assert len(await sessions.checkpoints.all(talk.id)) == 2
        (folder / "large").write_text("x" * 200)
        for _ in range(2):
            await started(talk, "echo two > a.txt")
        notes = [event.data.item for event in await talk.events() if isinstance(event.data, ItemCompleted)]
        details = [part.detail or "" for item in notes for part in item.content if isinstance(part, StatusPart)]
        assert len(details) == 1
        assert "100 are kept" in details[0]
        with pytest.raises(BadRequest, match="no checkpoint of the files"):
            await rewound(talk, (await ends(talk))[0])


async def test_checkpoints_stay_within_their_space(tmp_path: Path) -> None:
    """The older ones go; then a checkpoint is refused."""
    folder = tmp_path / "work"
    folder.mkdir()
    store = kept.Store(Git(tmp_path / "data" / "git"), tmp_path / "kept", folder, walled=False, most_bytes=400_000)

    def used() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "kept").rglob("*") if path.is_file())

    for number in range(1, 9):
        (folder / "a").write_bytes(os.urandom(100_000))
        store.keep(number, "after")
        assert used() < 550_000
    assert [each.sequence for each in store.all()][-1] == 8
    assert len(store.all()) < 6
    store.restore(store.all()[0], 9, [])
    for number in range(10, 13):
        (folder / f"{number}").write_bytes(os.urandom(90_000))
        store.keep(number, "after")
    (folder / "last").write_bytes(os.urandom(90_000))
    with pytest.raises(GitFailed, match=r"400,000 (are kept|are allowed)"):
        store.keep(13, "after")
    assert used() < 550_000


def store_of(tmp_path: Path, most_bytes: int) -> kept.Store:
    """The checkpoints of `tmp_path / "work"`."""
    (tmp_path / "work").mkdir()
    git = Git(tmp_path / "data" / "git")
    return kept.Store(git, tmp_path / "kept", tmp_path / "work", walled=False, most_bytes=most_bytes)


def grown(tmp_path: Path, store: kept.Store, *sizes: int) -> None:
    """Keeps the file `a` with each size in turn."""
    for number, size in enumerate(sizes, 1):
        (tmp_path / "work" / "a").write_bytes(os.urandom(size))
        store.keep(number, "after")


def test_a_rewind_of_a_store_that_is_full_succeeds(tmp_path: Path) -> None:
    store = store_of(tmp_path, 50_000)
    grown(tmp_path, store, 8_000, 36_000, 46_000)
    assert store.restore(store.all()[0], 3, [1, 2, 3]) == ["a"]
    assert (tmp_path / "work" / "a").stat().st_size == 8_000
    assert [each.sequence for each in store.all()] == [4]


def test_a_rewind_succeeds_although_no_checkpoint_can_be_made_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(tmp_path, 0)
    grown(tmp_path, store, 10, 20)

    def failing(*_: object, **__: object) -> None:
        raise GitFailed("It fails in this test.")

    monkeypatch.setattr(store, "keep", failing)
    assert store.restore(store.all()[0], 2, [1, 2]) == ["a"]
    assert (tmp_path / "work" / "a").stat().st_size == 10


def test_room_is_made_until_a_checkpoint_fits(tmp_path: Path) -> None:
    grown(tmp_path, store_of(tmp_path, 50_000), 40_000, 40_000, 40_000)
    store = kept.Store(Git(tmp_path / "data" / "git"), tmp_path / "kept", tmp_path / "work", walled=False, most_bytes=0)
    for number in range(4, 9):
        (tmp_path / "work" / "a").write_bytes(os.urandom(40_000))
        store.keep(number, "after")
    store._most_bytes = 50_000
    store.keep(9, "after")
    assert [each.sequence for each in store.all()] == [8, 9]


@pytest.mark.parametrize("limit", ["bytes", "count"])
def test_no_checkpoint_that_a_rewind_needs_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    if limit == "count":
        monkeypatch.setattr(kept, "MOST_KEPT", 1)
        monkeypatch.setattr(kept, "_GROUP", 3)
    store = store_of(tmp_path, 0)
    grown(tmp_path, store, 20_000, 20_000, 20_000, 20_000)
    store._most_bytes = 50_000 if limit == "bytes" else 0
    wanted = store.all()[1]
    store.keep(5, "after", protect=wanted)
    assert [each.sequence for each in store.all()] == [2, 3, 4, 5]
    assert store.restore(wanted, 5, [1, 2, 3, 4, 5]) == ["a"]


async def test_a_rewind_keeps_its_target_while_it_makes_room(opened: Opened, tmp_path: Path) -> None:
    """A checkpoint of the files as they are is made first, if the last turn has none."""
    folder = tmp_path / "work"
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "head -c 20000 /dev/urandom > a.txt")
        first = (folder / "a.txt").read_bytes()
        for _ in range(3):
            await run(talk, "head -c 20000 /dev/urandom > a.txt")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kept, "MOST_BYTES", 100)
            await started(talk, "head -c 20000 /dev/urandom > a.txt")
        sessions.checkpoints._most_bytes = 50_000
        done = await rewound(talk, (await ends(talk))[0], "both")
        assert (done.files, done.conversation) == (["a.txt"], True)
        assert (folder / "a.txt").read_bytes() == first


async def test_old_checkpoints_go_and_those_of_lost_sessions_too(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 2)
    monkeypatch.setattr(kept, "_GROUP", 2)
    async with opened() as sessions:
        talk = await begun(sessions, tmp_path / "work")
        for number in range(3):
            await started(talk, f"echo {number} > a.txt")
        assert 2 <= len(await sessions.checkpoints.all(talk.id)) <= 4
        await rewound(talk, (await ends(talk))[1])
        assert files(tmp_path / "work") == {"a.txt": "1\n"}
        (here,) = stores = list((tmp_path / "data" / "checkpoints").iterdir())
        for name in ("4711-1", "1-1"):
            shutil.copytree(here, here.with_name(name))
        await sessions.checkpoints.sweep(sessions._log.session_by_number)
        assert list((tmp_path / "data" / "checkpoints").iterdir()) == stores


async def test_checkpoints_of_another_store_are_kept_and_never_used(postgres: PostgresServer, tmp_path: Path) -> None:
    stores = (None, postgres.new_schema())
    talks = list[Talk]()
    for number, store in enumerate(stores):
        async with sessions_of(Settings(data_dir=tmp_path / "data", store=store), limits=Limits()) as sessions:
            talks.append(await begun(sessions, tmp_path / f"work{number}"))
            assert (await sessions.checkpoints.all(talks[-1].id)) == []
            await run(talks[-1], "echo one > a.txt")
            await sessions.checkpoints.sweep(sessions._log.session_by_number)
    for talk, store in zip(talks, stores, strict=True):
        async with sessions_of(Settings(data_dir=tmp_path / "data", store=store), limits=Limits()) as sessions:
            await sessions.checkpoints.sweep(sessions._log.session_by_number)
            assert len(await sessions.checkpoints.all(talk.id)) == 2
            await sessions.delete(talk.id)
    assert list((tmp_path / "data" / "checkpoints").iterdir()) == []


async def test_checkpoints_of_another_directory_fail_no_turn(opened: Opened, tmp_path: Path) -> None:
    """Those that were left in a data folder by another log, for a session with the same number and time."""
    async with opened() as sessions:
        talk = await begun(sessions, tmp_path / "work")
        record = await sessions._log.session(talk.id)
        place = tmp_path / "data" / "checkpoints" / f"{record.number}-{record.created_at}"
        place.mkdir(parents=True)
        (place / "root").write_text(str(tmp_path / "elsewhere"))
        events = await talk.say("[hello]")
        assert any(isinstance(event.data, TurnEnded) and event.data.stop_reason == "end_turn" for event in events)
        notes = [event.data.item for event in await talk.events() if isinstance(event.data, ItemCompleted)]
        details = [part.detail or "" for item in notes for part in item.content if isinstance(part, StatusPart)]
        assert "another directory" in details[0]
