"""A damaged database: refused with a clear message, except for the search index, which is built again."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from everyagent.clock import SystemClock
from everyagent.errors import Unavailable
from everyagent.log.log import Append
from everyagent.log.sqlite import SqliteLog
from everyagent.testing.log_rules.samples import START, event, new_session

INDEX = "UPDATE search_data SET block = randomblob(length(block))"
INDEX_AND_TEXTS = f"{INDEX}; DROP TABLE search_content"


def damage(folder: Path, script: str) -> None:
    """Change the tables behind the full-text index, as a defect of the disk would."""
    with closing(apsw.Connection(str(folder / "everyagent.db"))) as connection:
        connection.execute(script)


async def written(folder: Path) -> SqliteLog:
    log = await SqliteLog.open(folder, SystemClock())
    record = await new_session(log, "s")
    for sequence in range(record.last_sequence + 1, record.last_sequence + 200):
        one = event(sequence, text=f"first word{sequence}")
        await log.append(
            Append(session=record.number, epoch=record.epoch, expected=sequence - 1, at=START, events=[one])
        )
    return log


@pytest.mark.parametrize("script", [INDEX, INDEX_AND_TEXTS], ids=["index", "index and texts"])
async def test_a_damaged_search_index_stops_no_session(tmp_path: Path, script: str) -> None:
    log = await written(tmp_path)
    damage(tmp_path, script)
    record = await log.session("s")
    for sequence in range(record.last_sequence + 1, record.last_sequence + 100):
        one = event(sequence, text=f"second word{sequence}")
        await log.append(
            Append(session=record.number, epoch=record.epoch, expected=sequence - 1, at=START, events=[one])
        )
    assert await log.search("second", None, 10)
    if script == INDEX:
        assert await log.search("first", None, 10)
    await log.close()


async def test_a_damaged_search_index_is_repaired_at_the_start(tmp_path: Path) -> None:
    await (await written(tmp_path)).close()
    damage(tmp_path, INDEX)
    log = await SqliteLog.open(tmp_path, SystemClock())
    assert await log.search("first", None, 10)
    await log.close()


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def overwritten(data: bytes) -> bytes:
    return data[:4096] + b"\xff" * (len(data) - 4096)


def no_database(data: bytes) -> bytes:
    return b"this is no database" * (len(data) // 19)


@pytest.mark.parametrize("change", [truncated, overwritten, no_database])
async def test_a_damaged_database_is_refused_with_advice(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    log = await written(tmp_path)
    await log.close()
    with closing(apsw.Connection(str(tmp_path / "everyagent.db"))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    file = tmp_path / "everyagent.db"
    file.write_bytes(change(file.read_bytes()))
    before = file.read_bytes()
    with pytest.raises(Unavailable, match=r"is damaged.*backup"):
        await SqliteLog.open(tmp_path, SystemClock())
    assert file.read_bytes() == before
