"""Unified diffs from the hunks that Claude Code reports for an edit. Pure; used by `results.py`."""

from collections.abc import Sequence

from everyagent.agents.claude.wire import Hunk


def edited(path: str, hunks: Sequence[Hunk]) -> str:
    name = path.lstrip("/")
    return f"--- a/{name}\n+++ b/{name}\n" + "".join(_hunk(hunk) for hunk in hunks)


def _hunk(hunk: Hunk) -> str:
    head = f"@@ -{hunk.oldStart},{hunk.oldLines} +{hunk.newStart},{hunk.newLines} @@\n"
    return head + "".join(f"{line}\n" for line in hunk.lines)
