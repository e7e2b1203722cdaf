"""Unified diffs of OpenCode's file changes. Pure."""

from everyagent.agents.opencode.protocol.wire import FileDiff
from everyagent.model.parts import FileRefPart

_NO_NEWLINE = "\\ No newline at end of file\n"
_ADDED = frozenset({"added", "add"})


def edited(path: str, diff: str, *, new: bool = False) -> FileRefPart:
    return FileRefPart(path=path, action="write" if new else "patch", diff=unified(path, diff, new=new))


def written(path: str, content: str, *, new: bool) -> FileRefPart:
    """OpenCode sends no diff of a file that is written whole; a new file's diff is made from its content."""
    return FileRefPart(path=path, action="write", diff=_created(path, content) if new else None)


def changed(diffs: list[FileDiff]) -> list[FileRefPart]:
    """All changes of a turn so far."""
    return [edited(diff.file, diff.patch, new=diff.status in _ADDED) for diff in diffs]


def unified(path: str, diff: str, *, new: bool = False) -> str | None:
    """The hunks under the two header lines of a unified diff."""
    at = diff.find("\n@@ ")
    if at < 0:
        return None
    name = path.lstrip("/")
    old = "/dev/null" if new else f"a/{name}"
    hunks = diff[at + 1 :]
    return f"--- {old}\n+++ b/{name}\n{hunks}" + ("" if hunks.endswith("\n") else "\n")


def _created(path: str, content: str) -> str:
    lines = content.splitlines(keepends=True)
    head = f"--- /dev/null\n+++ b/{path.lstrip('/')}\n"
    if not lines:
        return head
    body = "".join(f"+{line}" if line.endswith("\n") else f"+{line}\n{_NO_NEWLINE}" for line in lines)
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}"
