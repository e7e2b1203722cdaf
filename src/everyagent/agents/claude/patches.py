"""Unified diffs from what Claude Code tells of an edit. Pure; used by `results.py`."""

from collections.abc import Iterator, Sequence

from everyagent.agents.claude.wire import Hunk

_NO_NEWLINE = "\\ No newline at end of file\n"


def edited(path: str, hunks: Sequence[Hunk]) -> str:
    name = path.lstrip("/")
    return f"--- a/{name}\n+++ b/{name}\n" + "".join(_hunk(hunk) for hunk in hunks)


def created(path: str, content: str) -> str:
    """A file that was not there before."""
    lines = content.splitlines(keepends=True)
    head = f"--- /dev/null\n+++ b/{path.lstrip('/')}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(_added(lines)) if lines else head


def _hunk(hunk: Hunk) -> str:
    head = f"@@ -{hunk.oldStart},{hunk.oldLines} +{hunk.newStart},{hunk.newLines} @@\n"
    return head + "".join(f"{line}\n" for line in hunk.lines)


def _added(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"+{line}" if line.endswith("\n") else f"+{line}\n{_NO_NEWLINE}"
