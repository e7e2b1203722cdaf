"""A program that appends to a log and prints acknowledged sequences, until test_kill.py kills it."""

import asyncio
import os
import sys
from pathlib import Path

from everyagent.clock import SystemClock
from everyagent.log.log import Append, NewFrame
from everyagent.log.sqlite import SqliteLog
from everyagent.testing.log_rules.samples import START, events


async def main(folder: Path) -> None:
    log = await SqliteLog.open(folder, SystemClock())
    session = await log.claim("one")
    head, frame = session.last_sequence, session.last_frame
    while True:
        steps: list[Append] = []
        for count in (1, 5, 20):
            frame += 1
            steps.append(
                Append(
                    session=session.number,
                    epoch=session.epoch,
                    expected=head,
                    at=START,
                    events=events(head + 1, head + count, size=300),
                    frames=[NewFrame(frame, "from_agent", "json", b"{}", head + 1, head + count)],
                )
            )
            head += count
        for step in [log.append(step) for step in steps]:
            await step
        os.write(1, b"%d\n" % head)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
