"""Acknowledged events survive a power cut at any moment."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import apsw
import pytest
from faulty_disk import FaultyDisk

from everyagent.clock import SystemClock
from everyagent.log.log import Append, NewFrame
from everyagent.log.sqlite import SqliteLog, checkpoint, writer
from everyagent.testing.log_rules.samples import START, event, events, new_session, sequences, whole

CUTS = 300
STEPS = 250


class Cut(NamedTuple):
    acknowledged: int
    files: dict[str, bytes]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk(images=True)
    yield disk
    disk.unregister()


@pytest.fixture(autouse=True)
def busy_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that power cuts also hit checkpoints."""
    monkeypatch.setattr(checkpoint, "WORTHWHILE_PAGES", 20)
    monkeypatch.setattr(writer, "LARGE_PAGES", 60)


async def cuts_while_writing(disk: FaultyDisk, folder: Path, *, synchronous: str = "full") -> list[Cut]:
    chance = random.Random(3)
    cuts: list[Cut] = []
    acknowledged = 0
    log = await SqliteLog.open(folder, SystemClock(), vfs=disk.name)
    log._writer._connection.execute(f"PRAGMA synchronous = {synchronous}")
    session = await new_session(log)
    acknowledged = head = 1

    def maybe_cut() -> None:
        if len(cuts) < CUTS and chance.random() < 0.3:
            cuts.append(Cut(acknowledged, disk.power_cut(chance)))

    disk.noticed = maybe_cut
    for number in range(1, STEPS + 1):
        count = chance.choice((1, 3, 10))
        step = Append(
            session=session.number,
            epoch=0,
            expected=head,
            at=START,
            events=events(head + 1, head + count, size=chance.choice((20, 600))),
            frames=[NewFrame(number, "from_agent", "json", b"{}", head + 1, head + count)],
        )
        await log.append(step)
        acknowledged = head = head + count
    await log.close()
    return cuts


def survivors(cut: Cut, folder: Path) -> list[int]:
    """The sequences in the log after the power cut. The database must pass its integrity check."""
    folder.mkdir()
    for name, content in cut.files.items():
        (folder / name).write_bytes(content)
    connection = apsw.Connection(str(folder / "everyagent.db"))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = connection.execute("SELECT key & 4294967295, body FROM events ORDER BY key").fetchall()
        rows = cast("list[tuple[int, bytes]]", found)
        assert all(f'"sequence":{sequence},'.encode() in body for sequence, body in rows)
        sessions = connection.execute("SELECT last_sequence, last_frame FROM sessions").fetchall()
        frames = connection.execute("SELECT count(*) FROM frames").get
        assert sessions == ([(len(rows), frames)] if rows else [])
        return [sequence for sequence, _ in rows]
    finally:
        connection.close()


async def test_nothing_acknowledged_is_lost_in_hundreds_of_power_cuts(disk: FaultyDisk, tmp_path: Path) -> None:
    cuts = await cuts_while_writing(disk, tmp_path / "data")
    assert len(cuts) == CUTS
    for number, cut in enumerate(cuts):
        found = survivors(cut, tmp_path / f"cut-{number}")
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= cut.acknowledged, f"cut {number}"


async def test_the_log_works_after_a_power_cut(disk: FaultyDisk, tmp_path: Path) -> None:
    cuts = await cuts_while_writing(disk, tmp_path / "data")
    for number, cut in enumerate(cuts[:: CUTS // 10]):
        folder = tmp_path / f"cut-{number}"
        found = survivors(cut, folder)
        log = await SqliteLog.open(folder, SystemClock())
        session = await log.claim("one")
        step = Append(
            session=session.number, epoch=session.epoch, expected=len(found), at=START, events=[event(len(found) + 1)]
        )
        await log.append(step)
        assert sequences(await whole(log, session.number)) == [*found, len(found) + 1]
        await log.close()


async def test_the_simulated_power_cuts_lose_data_that_was_not_synced(disk: FaultyDisk, tmp_path: Path) -> None:
    """Shows that the other tests can fail: without a sync at each commit, acknowledged events are lost."""
    cuts = await cuts_while_writing(disk, tmp_path / "data", synchronous="normal")
    found = [survivors(cut, tmp_path / f"cut-{number}") for number, cut in enumerate(cuts)]
    assert any(len(each) < cut.acknowledged for each, cut in zip(found, cuts, strict=True))
