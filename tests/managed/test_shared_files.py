"""Files that several requests write or collect at once, and drafts that a crash leaves behind."""

import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from everyagent.managed.resources.files.shape import FileListQuery
from everyagent.managed.resources.files.store import KnownOutput, write_read_only
from everyagent.managed.workspace.shape import OUTPUTS
from tests.managed import services

SESSION = "sesn_1"
LIMIT = 60.0
CRASH = """
import io, os, sys
from pathlib import Path
from everyagent.managed.resources.files.store import write_read_only
folder = Path(sys.argv[1])
if os.getuid() == 0:
    os.setuid(65534)
if (child := os.fork()) == 0:
    os.replace = Path.replace = lambda *_, **__: os._exit(9)
    write_read_only(io.BytesIO(b"cut off"), folder, ["notes.txt"])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
write_read_only(io.BytesIO(b"whole"), folder, ["notes.txt"])
print((folder / "notes.txt").read_text())
"""


class Halting(io.BytesIO):
    """Stops in the middle until `released` is set."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.halted, self.released = threading.Event(), threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if not found:
            self.halted.set()
            assert self.released.wait(LIMIT)
        return found


def test_two_writes_of_one_file_at_once_both_succeed(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    slow = Halting(b"the notes")
    failures: list[BaseException] = []

    def write_slowly() -> None:
        try:
            write_read_only(slow, tmp_path, [target.name])
        except BaseException as error:
            failures.append(error)
            raise

    first = threading.Thread(target=write_slowly)
    first.start()
    assert slow.halted.wait(LIMIT)
    write_read_only(io.BytesIO(b"the notes"), tmp_path, [target.name])
    slow.released.set()
    first.join(LIMIT)
    assert not failures
    assert target.read_bytes() == b"the notes"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert target.stat().st_mode & 0o777 == 0o444


def test_a_crash_in_the_middle_of_a_write_does_not_block_the_next_one() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run(
            [sys.executable, "-c", CRASH, folder], capture_output=True, text=True, check=False, timeout=LIMIT
        )
        assert done.stdout == "whole\n", done.stderr


async def test_outputs_of_a_session_are_collected_by_one_request_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with services.managed(tmp_path) as on:
        folder = on.workspaces.directory(SESSION) / OUTPUTS.strip("/")
        inside = most = 0
        known = on.files.outputs

        async def counted(session_id: str) -> dict[str, KnownOutput]:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            found = await known(session_id)
            inside -= 1
            return found

        monkeypatch.setattr(on.files, "outputs", counted)

        async def collect(number: int) -> None:
            for each in range(10):
                (folder / f"{number}-{each}.txt").write_text("made by the agent")
                await on.workspaces.outputs.collect(SESSION)

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(collect, number)
        assert most == 1
        listed = await on.files.list(FileListQuery(scope_id=SESSION, limit=100))
        assert len(listed.data) == 40


async def test_uses_of_one_file_at_once_share_one_copy(tmp_path: Path) -> None:
    async with services.managed(tmp_path) as on:

        async def pieces() -> AsyncIterator[bytes]:
            yield b"attached"

        async with on.files.upload(pieces()) as uploaded:
            file = await on.files.add(uploaded, "a.txt", None)
        found: list[Path] = []

        async def use() -> None:
            found.append((await on.files.path(file.id))[1])

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(use)
        assert len(set(found)) == 1
        assert found[0].read_bytes() == b"attached"
        assert [path.name for path in found[0].parent.iterdir()] == ["a.txt"]
