"""A writer that is killed loses no acknowledged event."""

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.waiting import LIMIT_SECONDS

from everyagent.clock import SystemClock
from everyagent.log.sqlite import SqliteLog
from everyagent.testing.log_rules.samples import new_session, sequences, whole

KILLS = 20


async def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    chance = random.Random(5)
    log = await SqliteLog.open(tmp_path, SystemClock())
    number = (await new_session(log)).number
    await log.close()
    for _ in range(KILLS):
        acknowledged = killed_at_work(tmp_path, after=chance.uniform(0, 0.1))
        log = await SqliteLog.open(tmp_path, SystemClock())
        state = await log.session("one")
        found = sequences(await whole(log, number))
        assert found == list(range(1, state.last_sequence + 1))
        assert state.last_sequence >= acknowledged
        frames, _ = await log.frames(number, max(0, state.last_frame - 1), 10)
        assert [(frame.number, frame.sequences[-1]) for frame in frames] == [(state.last_frame, state.last_sequence)]
        await log.close()


def killed_at_work(folder: Path, after: float) -> int:
    """The last sequence that the process printed as acknowledged."""
    target = Path(__file__).with_name("kill_target.py")
    with subprocess.Popen([sys.executable, str(target), str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after)
        process.kill()
        rest = process.stdout.read()
        process.wait(LIMIT_SECONDS)
    return int((first + rest[: rest.rfind(b"\n") + 1]).split()[-1])
