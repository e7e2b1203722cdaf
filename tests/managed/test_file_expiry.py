"""Files that expire are refused afterwards, and deleted from disk."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from everyagent.errors import NotFound
from everyagent.managed.resources.files.shape import FileListQuery
from everyagent.managed.workspace.shape import FileParams
from tests.managed import services
from tests.waiting import LIMIT_SECONDS

HOUR = 3600
SESSION = "sesn_1"


class MovedClock:
    def __init__(self) -> None:
        self.seconds = 1_800_000_000

    def micros(self) -> int:
        return self.seconds * 1_000_000


async def test_a_file_is_available_until_it_expires(tmp_path: Path) -> None:
    clock = MovedClock()
    async with services.managed(tmp_path, clock=clock) as on:

        async def pieces() -> AsyncIterator[bytes]:
            yield b"for an hour, and no longer"

        async with on.files.upload(pieces()) as uploaded:
            brief = await on.files.add(uploaded, "brief.txt", None, HOUR)
        assert brief.expires_at == "2027-01-15T09:00:00.000000Z"
        await on.resources.add(SESSION, FileParams(file_id=brief.id))
        blobs = kept(tmp_path)
        assert blobs
        clock.seconds += HOUR - 1
        assert brief.id in [each.id for each in (await on.files.list(FileListQuery())).data]
        clock.seconds += 1
        for ask in (on.files.retrieve, on.files.open, on.files.path):
            with pytest.raises(NotFound) as refused:
                await ask(brief.id)
            assert refused.value.facts["error_code"] == "file_expired"
        (copy,) = (await on.files.list(FileListQuery())).data
        assert (copy.scope is not None, copy.expires_at) == (True, None)
        assert kept(tmp_path) == blobs, "a session's own copy stays"
        await on.resources.take_away(SESSION)
        clock.seconds += HOUR
        await on.files.list(FileListQuery())  # which sweeps now and then
        with anyio.fail_after(LIMIT_SECONDS):
            while kept(tmp_path):
                await anyio.sleep(0.02)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and b"no longer" in path.read_bytes()]
