"""Worktrees of a log that was copied, as a restored backup is."""

import shutil
from pathlib import Path

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.sessions.limits import Limits
from tests.sessions.conftest import Opened
from tests.sessions.test_worktrees import begun, place, repository, run

__all__ = ["repository"]


async def test_a_copy_of_a_log_leaves_the_worktrees_of_the_original(
    opened: Opened, repository: Path, tmp_path: Path
) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        await run(talk, "echo new > new.txt")
        folder = await place(talk)
    shutil.copytree(tmp_path / "data", tmp_path / "copy", ignore=shutil.ignore_patterns("worktrees", "lock"))
    async with sessions_of(Settings(data_dir=tmp_path / "copy"), limits=Limits()) as copy:
        left = await copy.delete(talk.id)
    assert f"{folder} is of another data folder" in str(left)
    assert (folder / "new.txt").read_text() == "new\n"
    async with opened() as sessions:
        await sessions.delete(talk.id)
    assert not folder.exists()
