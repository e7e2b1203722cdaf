"""Keeps the first and last lines of a process's stderr. Fed by `process.py`."""

from collections import deque

from everyagent.model.events import StderrOutput
from everyagent.runtime.framing import Line, LineSplitter

HEAD_LINES = 20
TAIL_LINES = 50
LINE_LIMIT = 4096


class StderrKeeper:
    """Holds at most (head + tail + 1) * LINE_LIMIT bytes."""

    def __init__(self) -> None:
        self._splitter = LineSplitter(LINE_LIMIT)
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        for line in self._splitter.feed(chunk):
            self._keep(line)

    def finish(self) -> None:
        for line in self._splitter.finish():
            self._keep(line)

    def output(self) -> StderrOutput | None:
        """None if there was no output. All lines are in `head`, unless some were dropped."""
        if not self._total:
            return None
        if self._total <= HEAD_LINES + TAIL_LINES:
            return StderrOutput(truncated=False, head="\n".join([*self._head, *self._tail]), total_lines=self._total)
        return StderrOutput(
            truncated=True, head="\n".join(self._head), tail="\n".join(self._tail), total_lines=self._total
        )

    @property
    def last_line(self) -> str | None:
        """The last line that is not blank: the likeliest reason for the end of the process."""
        return next((line for line in [*reversed(self._tail), *reversed(self._head)] if line.strip()), None)

    def _keep(self, line: Line) -> None:
        text = line.body.decode(errors="replace")
        if line.cut:
            text += f"… ({line.cut} bytes)"
        self._total += 1
        if len(self._head) < HEAD_LINES:
            self._head.append(text)
        else:
            self._tail.append(text)
