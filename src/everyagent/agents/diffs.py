"""Unified diffs of whole files. Pure; used by adapters whose agents tell only what they wrote."""

from difflib import unified_diff

_NO_NEWLINE = "\\ No newline at end of file\n"


def created(path: str, content: str) -> str:
    """Of a file that was not there before."""
    lines = _lines(content)
    head = f"--- /dev/null\n+++ b/{path.lstrip('/')}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(_ended(f"+{line}") for line in lines) if lines else head


def changed(path: str, before: str, after: str) -> str:
    """Of a file that was written over."""
    name = path.lstrip("/")
    head = f"--- a/{name}\n+++ b/{name}\n"
    _, _, *hunks = unified_diff(_lines(before), _lines(after)) if before != after else ("", "")
    return head + "".join(map(_ended, hunks))


def _lines(text: str) -> list[str]:
    """As diffs count them: by line feeds alone."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"
