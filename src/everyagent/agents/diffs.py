"""Unified diffs of whole files. Pure; used by adapters whose agents tell only what they wrote."""

_NO_NEWLINE = "\\ No newline at end of file\n"


def created(path: str, content: str) -> str:
    """Of a file that was not there before."""
    lines = content.splitlines(keepends=True)
    head = f"--- /dev/null\n+++ b/{path.lstrip('/')}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(map(_added, lines)) if lines else head


def _added(line: str) -> str:
    return f"+{line}" if line.endswith("\n") else f"+{line}\n{_NO_NEWLINE}"
