"""Private folders and files: the data folder, the database, and the folders of sessions."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import apsw
import pytest

from everyagent.errors import Unavailable
from everyagent.log.log import SessionRecord
from everyagent.private_files import private_folder
from everyagent.sessions.launch.scratch import ScratchFolders
from tests.sessions.conftest import Opened, Talk
from tests.waiting import LIMIT_SECONDS

Create = Callable[..., Awaitable[Talk]]


def scratch_folders(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "data" / "scratch").iterdir())


async def test_the_folder_ends_with_the_session(opened: Opened, create: Create, tmp_path: Path) -> None:
    async with opened() as sessions:
        talks = [await create(sessions) for _ in range(3)]
        for talk in talks:
            await talk.say("hello")
        assert scratch_folders(tmp_path) == ["1", "2", "3"]
        await sessions.terminate(talks[0].id)
        await sessions.delete(talks[1].id)
        assert scratch_folders(tmp_path) == ["3"]
        assert "hello" in str(await talks[2].say("hello"))


async def test_folders_of_ended_sessions_are_removed_at_the_start(
    opened: Opened, create: Create, tmp_path: Path
) -> None:
    async with opened() as sessions:
        kept, ended = await create(sessions), await create(sessions)
        await kept.say("hello")
        await sessions.terminate(ended.id)
    for name in ("2", "2612", "not-a-number"):
        (tmp_path / "data" / "scratch" / name).mkdir()
        (tmp_path / "data" / "scratch" / name / "mcp.json").write_text("token")
    (tmp_path / "data" / "scratch" / "77").symlink_to(tmp_path)
    async with opened():
        with anyio.fail_after(LIMIT_SECONDS):
            while scratch_folders(tmp_path) != ["1"]:
                await anyio.sleep(0.01)
    assert tmp_path.exists()


async def test_shared_folders_of_the_last_daemon_are_removed_but_not_those_in_use(tmp_path: Path) -> None:
    """An agent may be started while the folders that a killed daemon left are removed."""
    folders = ScratchFolders(tmp_path / "scratch")
    folders.set_aside_shared()
    left = folders.make(1).parent / "shared" / "digest"
    left.mkdir(parents=True)
    (left / "mcp.json").write_text("token")
    folders = ScratchFolders(tmp_path / "scratch")
    folders.set_aside_shared()
    assert not left.exists()
    left.mkdir(parents=True)

    async def session_of(_number: int) -> SessionRecord:
        return SessionRecord(
            number=1, session_id="s", agent="mock", created_at=0, updated_at=0, config=b"{}", secrets=None
        )

    await folders.sweep(session_of)
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == ["1", "shared"]
    assert left.exists()


async def test_everything_in_the_data_folder_is_private(opened: Opened, create: Create, tmp_path: Path) -> None:
    data = tmp_path / "data"
    before = os.umask(0o022)
    try:
        data.mkdir(mode=0o755)
        (data / "everyagent.db").touch(mode=0o644)
        async with opened() as sessions:
            talk = await create(sessions)
            await talk.say("[flood events=10 size=300000]")
            assert list((data / "blobs").iterdir())
            assert data.stat().st_mode & 0o777 == 0o700
            opened_to_others = [path.name for path in data.iterdir() if path.is_file() and path.stat().st_mode & 0o077]
            assert opened_to_others == []
            assert [path for path in (data / "blobs").iterdir() if path.stat().st_mode & 0o077] == []
            assert [
                path for path in (data / "scratch").rglob("*") if path.is_dir() and path.stat().st_mode & 0o077
            ] == []
    finally:
        os.umask(before)


async def test_deleted_text_is_gone_from_the_database(opened: Opened, create: Create, tmp_path: Path) -> None:
    database = tmp_path / "data" / "everyagent.db"
    async with opened() as sessions:
        kept, deleted = await create(sessions), await create(sessions)
        await kept.say("remain")
        for number in range(50):
            await deleted.say(f"xq{number}zyzzyvaquine went away")
        await sessions.delete(deleted.id)
        # The library of the daemon: a second one in the process would drop the locks of the first when it closes.
        reader = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        with anyio.fail_after(LIMIT_SECONDS):
            while reader.execute("SELECT count(*) FROM debris").fetchone() != (0,):
                await anyio.sleep(0.01)
        reader.close()
        assert await sessions.search("remain", session_id=None, limit=5)
    for file in (tmp_path / "data").rglob("*"):
        assert file.is_dir() or b"zyzzyvaquine" not in file.read_bytes(), file


def test_a_folder_that_cannot_be_made_private_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(Unavailable, match="chmod 700"):
        private_folder(folder)
