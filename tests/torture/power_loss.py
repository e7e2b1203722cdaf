"""Row: power loss at any write, sync, rename or removal of the database, the write-ahead log and the blobs."""

import hashlib
import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast
from unittest.mock import patch

import apsw

from everyagent.clock import SystemClock
from everyagent.log.log import Append, NewFrame
from everyagent.log.sql import group
from everyagent.log.sqlite import SqliteLog, checkpoint, writer
from everyagent.testing.log_rules.samples import START, event, events, new_session, sequences, whole
from tests.log.faulty_disk import FaultyDisk
from tests.torture.faulty_folder import FaultyFolder, WatchedPath, watched
from tests.torture.row import Outcome, Run

#: Power cuts that one history of writes is cut at.
CUTS = 500
STEPS = 200
#: Larger bodies are blobs here.
INLINE_BYTES = 300


class Cut(NamedTuple):
    acknowledged: int
    files: dict[str, bytes]
    blobs: dict[str, bytes]


@contextmanager
def small_limits() -> Generator[None]:
    """Small limits, so that power cuts also hit checkpoints and blobs."""
    with (
        patch.object(checkpoint, "WORTHWHILE_PAGES", 20),
        patch.object(writer, "LARGE_PAGES", 60),
        patch.object(group, "INLINE_BYTES", INLINE_BYTES),
    ):
        yield


async def cuts_while_writing(folder: Path, seed: int, *, folder_syncs: bool = True) -> list[Cut]:
    """The disk after power cuts at random moments of a history of commits, with blobs and deleted sessions."""
    chance = random.Random(seed)
    disk = FaultyDisk(images=True)
    cuts: list[Cut] = []
    acknowledged = 0

    def maybe_cut() -> None:
        if len(cuts) < CUTS and chance.random() < 0.3:
            with disk.lock:
                cuts.append(Cut(acknowledged, disk.power_cut(chance), blobs.power_cut(chance)))

    blobs = FaultyFolder(disk.lock, maybe_cut)
    blobs.syncs = folder_syncs
    with small_limits(), watched(blobs):
        log = await SqliteLog.open(WatchedPath(folder), SystemClock(), vfs=disk.name)
        session = await new_session(log)
        acknowledged = head = 1
        disk.noticed = maybe_cut
        for number in range(1, STEPS + 1):
            count, size = chance.choice((1, 3, 10)), chance.choice((20, 200, 600, 2000))
            step = Append(
                session=session.number,
                epoch=0,
                expected=head,
                at=START,
                events=events(head + 1, head + count, size=size),
                frames=[
                    NewFrame(number, "from_agent", "json", b"{}" * chance.choice((1, 400)), head + 1, head + count)
                ],
            )
            await log.append(step)
            acknowledged = head = head + count
            if number % 10 == 0:
                doomed = await new_session(log, f"doomed-{number}")
                shared = [event(2, size=2000), event(3, size=600 + number)]
                await log.append(Append(session=doomed.number, epoch=0, expected=1, at=START, events=shared))
                await log.delete(f"doomed-{number}")
        await log.close()
    disk.unregister()
    return cuts


def restored(cut: Cut, folder: Path) -> Path:
    """Writes what the power cut left to a real folder."""
    (folder / "blobs").mkdir(parents=True)
    for name, content in cut.files.items():
        (folder / name).write_bytes(content)
    for name, content in cut.blobs.items():
        (folder / "blobs" / name).write_bytes(content)
    return folder


def survivors(folder: Path) -> list[int]:
    """The sequences of the session that is never deleted. Database and blobs must be whole."""
    connection = apsw.Connection(str(folder / "everyagent.db"))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for (digest,) in cast("list[tuple[bytes]]", connection.execute("SELECT digest FROM blobs").fetchall()):
            assert (folder / "blobs" / digest.hex()).exists(), "a row refers to a blob that is lost"
        found = connection.execute("SELECT key & 4294967295, blob, body FROM events WHERE key >> 32 = 1 ORDER BY key")
        rows = cast("list[tuple[int, bytes | None, bytes | None]]", found.fetchall())
        for sequence, digest, body in rows:
            stored = body or (folder / "blobs" / (digest or b"").hex()).read_bytes()
            assert f'"sequence":{sequence},'.encode() in stored
            assert digest is None or hashlib.sha256(stored).digest() == digest
        return [sequence for sequence, _, _ in rows]
    finally:
        connection.close()


async def check(cut: Cut, folder: Path, *, reopen: bool) -> int:
    """Checks one power cut. `reopen` also opens the log and appends. Returns the number of blobs that were left."""
    found = survivors(restored(cut, folder))
    assert found == list(range(1, len(found) + 1))
    assert len(found) >= cut.acknowledged, f"{cut.acknowledged} events were acknowledged, {len(found)} are left"
    if reopen and found:
        log = await SqliteLog.open(folder, SystemClock())
        session = await log.claim("one")
        step = Append(
            session=session.number, epoch=session.epoch, expected=len(found), at=START, events=[event(len(found) + 1)]
        )
        await log.append(step)
        stored = await whole(log, session.number)
        assert sequences(stored) == [*found, len(found) + 1]
        await log.close()
    return len(cut.blobs)


async def run(run: Run) -> Outcome:
    histories = run.pick(1, 10)
    run.announce(histories * CUTS)
    blobs = events_kept = 0
    for seed in range(histories):
        cuts = await cuts_while_writing(run.folder / f"history-{seed}", seed)
        assert len(cuts) == CUTS, f"only {len(cuts)} power cuts"
        for number, cut in enumerate(cuts):
            blobs += await check(cut, run.folder / f"cut-{seed}-{number}", reopen=number % 25 == 0)
            events_kept += cut.acknowledged
            run.step()
    return Outcome(
        faults=histories * CUTS,
        figures={
            "acknowledged events checked": f"{events_kept:,}",
            "blobs on disk at the cuts": f"{blobs:,}",
            "acknowledged events lost": "0",
            "damaged databases and blobs": "0",
        },
    )
