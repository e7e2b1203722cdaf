"""Unified diffs of Codex's file changes. Pure."""

from everyagent.agents.codex.protocol.wire_items import FileChange
from everyagent.model.parts import FileRefPart

_NO_NEWLINE = "\\ No newline at end of file\n"


def file_ref(change: FileChange) -> FileRefPart:
    match change.kind.type:
        case "add":
            return FileRefPart(path=change.path, action="write", diff=_whole(change, "+"))
        case "delete":
            return FileRefPart(path=change.path, action="write", diff=_whole(change, "-"))
        case _:
            return FileRefPart(path=change.path, action="patch", diff=_edited(change))


def _edited(change: FileChange) -> str | None:
    """Codex sends the hunks only."""
    if not change.diff:
        return None
    old, new = _name(change.path), _name(change.kind.move_path or change.path)
    hunks = change.diff if change.diff.endswith("\n") else change.diff + "\n"
    return f"--- a/{old}\n+++ b/{new}\n{hunks}"


def _whole(change: FileChange, sign: str) -> str:
    """For a new or deleted file Codex sends the content."""
    name, lines = _name(change.path), change.diff.splitlines(keepends=True)
    count = f"1,{len(lines)}"
    if sign == "+":
        head = f"--- /dev/null\n+++ b/{name}\n" + (f"@@ -0,0 +{count} @@\n" if lines else "")
    else:
        head = f"--- a/{name}\n+++ /dev/null\n" + (f"@@ -{count} +0,0 @@\n" if lines else "")
    return head + "".join(f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}" for line in lines)


def _name(path: str) -> str:
    return path.lstrip("/")
