"""The hot path without processes and sockets: native lines, decoded, decided, committed to SQLite, framed for readers.

Its cost in bytecode instructions does not depend on the machine or its load, so that a test can compare it with the
figure that was committed last.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from everyagent.agents.adapter import Capabilities, DecodedFrame, Frame
from everyagent.agents.mock.decode import decode
from everyagent.api.sse import session_frames
from everyagent.clock import SystemClock
from everyagent.log.blobs import Blobs
from everyagent.log.chunk import EventChunk
from everyagent.log.log import SessionRecord
from everyagent.log.sql import writes
from everyagent.log.sqlite.database import Database
from everyagent.log.sqlite.group import SqliteGroup
from everyagent.log.sqlite.migrations import migrate
from everyagent.model.events import TurnStarted
from everyagent.runtime.framing import Line
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.inputs import FramesReceived
from everyagent.sessions.machine.machine import Machine
from everyagent.sessions.machine.state import SessionState

#: A batch of lines that the daemon reads at once in a flood.
LINES = 160
_LINE = Line(b'{"type":"text","id":"m1","index":0,"text":"%b"}' % (b"x" * 200))


class HotPath:
    """One session in a new database, in the middle of a turn."""

    def __init__(self, folder: Path) -> None:
        self._clock = SystemClock()
        self._connection = Database(folder / "events.db").writer()
        migrate(self._connection)
        self._blobs = Blobs(folder / "blobs")
        self._last_commit = 0
        group = self._begin()
        record = SessionRecord(
            number=0,
            session_id="hot",
            agent="mock",
            created_at=1,
            updated_at=1,
            config=b'{"directory":"/"}',
            secrets=None,
        )
        record = writes.create(group, record, [], [], None, None)
        self._end(group)
        self._machine = Machine(SessionState(record), title="Mock", capabilities=Capabilities(), limits=Limits())
        started = DecodedFrame(Frame("from_agent", b"{}"), [TurnStarted(turn_id="turn", input_item_ids=[])])
        self._commit([started])

    def run(self) -> bytes:
        """The bytes that a reader gets of one batch."""
        return self._commit([decode(line) for line in [_LINE] * LINES])

    def instructions(self) -> float:
        """Bytecode instructions for each line, from its decoding to a reader's bytes."""
        counted = 0

        def count(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal counted
            frame.f_trace_opcodes = True
            counted += event == "opcode"
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            self.run()
        finally:
            sys.settrace(before)
        return counted / LINES

    def _commit(self, frames: list[DecodedFrame]) -> bytes:
        decision = self._machine.decide(FramesReceived(frames), self._clock.micros())
        if decision.append is None:
            raise AssertionError("a batch of text has events")
        group = self._begin()
        writes.append(group, decision.append)
        chunks = self._end(group)
        return b"".join([chunk.derived(session_frames, b"".join) for chunk in chunks])

    def _begin(self) -> SqliteGroup:
        self._connection.execute("BEGIN IMMEDIATE")
        return SqliteGroup(self._connection, self._blobs, self._clock, self._last_commit)

    def _end(self, group: SqliteGroup) -> list[EventChunk]:
        chunks = group.finish()
        self._connection.execute("COMMIT")
        self._last_commit = group.last_commit
        return chunks
