"""Unified diffs of whole files, for agents that report only the new content. Pure."""

from difflib import unified_diff

_NO_NEWLINE = "\\ No newline at end of file\n"


def created(path: str, content: str) -> str:
    """The diff of a new file."""
    lines = _lines(content)
    head = f"--- /dev/null\n+++ b/{path.lstrip('/')}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(_ended(f"+{line}") for line in lines) if lines else head


def changed(path: str, before: str, after: str) -> str:
    """The diff of a file that was overwritten."""
    name = path.lstrip("/")
    head = f"--- a/{name}\n+++ b/{name}\n"
    _, _, *hunks = unified_diff(_lines(before), _lines(after)) if before != after else ("", "")
    return head + "".join(map(_ended, hunks))


def replaced(path: str, before: str, after: str) -> str:
    """The diff of a file with all lines replaced: for files that are too large to compare."""
    name, old, new = path.lstrip("/"), _lines(before), _lines(after)
    head = f"--- a/{name}\n+++ b/{name}\n@@ -{bool(old):d},{len(old)} +{bool(new):d},{len(new)} @@\n"
    return head + "".join(_ended(f"-{line}") for line in old) + "".join(_ended(f"+{line}") for line in new)


def _lines(text: str) -> list[str]:
    """Split at line feeds alone, as diffs do."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"
