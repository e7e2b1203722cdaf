"""A real edit of a real file: one more line at its end, reported as a unified diff."""

import difflib
import threading
from pathlib import Path

from everyagent.agents.mock.program.outcome import ToolOutcome

_one_at_a_time = threading.Lock()


def add_line(directory: Path, path: str, line: str) -> ToolOutcome:
    file = (directory / path).resolve()
    if not file.is_relative_to(directory.resolve()):
        return ToolOutcome(f"{path} is outside of the session's directory", is_error=True)
    try:
        with _one_at_a_time:
            before = file.read_text() if file.exists() else ""
            gap = "\n" if before and not before.endswith("\n") else ""
            after = f"{before}{gap}{line}\n"
            file.write_text(after)
    except (OSError, ValueError) as error:
        return ToolOutcome(f"{path} could not be edited: {error}", is_error=True)
    old = f"a/{path}" if before else "/dev/null"
    diff = "".join(difflib.unified_diff(_lines(before), _lines(after), old, f"b/{path}"))
    return ToolOutcome(f"Added a line to {path}.", files=({"path": str(file), "action": "patch", "diff": diff},))


def _lines(text: str) -> list[str]:
    """A last line without its end keeps the diff readable by `patch`."""
    return [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in text.splitlines(keepends=True)
    ]
