"""The conversation so far as plain text, for an agent that has no history of its own."""

from collections import deque
from collections.abc import Iterable
from typing import assert_never

from everyagent.sessions.history.transcript.entries import (
    ASKED,
    SPEAKERS,
    AnyEntry,
    Asked,
    Called,
    Changed,
    Failed,
    MessageEntry,
    Noted,
    Pictured,
    Returned,
    Thought,
)

#: The most characters of a tool's arguments or output, or of a diff.
_DETAIL_CHARS = 1_500


def as_seed(entries: Iterable[AnyEntry], limit_chars: int = 24_000) -> str:
    """The newest entries that fit, oldest first, with a note on what is left out; empty if there are none."""
    kept: deque[str] = deque()
    room = limit_chars - len(_heading(10**9))
    used = dropped = 0
    for entry in entries:
        text = _summary(entry)
        if text is None:
            continue
        text = _shortened(text, room)
        kept.append(text)
        used += len(text) + 2
        while used > room and len(kept) > 1:
            used -= len(kept.popleft()) + 2
            dropped += 1
    return "\n\n".join([_heading(dropped), *kept]) if kept else ""


def _heading(dropped: int) -> str:
    lines = ["This conversation so far, oldest first. Reasoning and the inner work of sub-agents are left out."]
    if dropped:
        lines.append(f"The {dropped} oldest entries are left out, too.")
    return "\n".join(lines)


def _summary(entry: AnyEntry) -> str | None:
    if entry.depth:
        return None
    match entry:
        case MessageEntry(role=role, text=text):
            return f"{SPEAKERS[role]}: {text}"
        case Called(tool=tool, arguments=arguments):
            return f"[called {tool}] {_shortened(arguments, _DETAIL_CHARS)}"
        case Returned(tool=tool, output=output, is_error=is_error):
            verdict = "failed" if is_error else "returned"
            return f"[{tool} {verdict}] {_shortened(output, _DETAIL_CHARS)}"
        case Changed(path=path, action=action, diff=diff):
            return f"[{action} {path}]" + (f"\n{_shortened(diff, _DETAIL_CHARS)}" if diff else "")
        case Pictured(path=path):
            return f"[image {path}]"
        case Asked(kind=kind, prompt=prompt, outcome=outcome):
            return f"[{ASKED[kind].lower()}] {_shortened(prompt, _DETAIL_CHARS)} -> {outcome or 'not answered'}"
        case Failed(message=message):
            return f"[error] {message}"
        case Noted(label=label, detail=detail):
            return f"[{label}]" + (f" {_shortened(detail, _DETAIL_CHARS)}" if detail else "")
        case Thought():
            return None
        case _:
            assert_never(entry)


def _shortened(text: str, limit: int) -> str:
    """The beginning and the end of a long text, with its length between them."""
    if len(text) <= limit:
        return text
    gap = f"\n… {len(text)} characters, shortened …\n"
    half = max(0, (limit - len(gap)) // 2)
    return text[:half] + gap + text[len(text) - half :]
