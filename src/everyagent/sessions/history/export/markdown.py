"""Exports a session as Markdown."""

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from everyagent.model.sessions import SessionInfo
from everyagent.sessions.history.export.containment import contained
from everyagent.sessions.history.export.document import stream
from everyagent.sessions.history.export.facts import facts_of, indented, shown, title_of
from everyagent.sessions.history.transcript import AnyEntry, AnyEvent
from everyagent.sessions.history.transcript.entries import (
    ASKED,
    SPEAKERS,
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


def export(info: SessionInfo, events: Iterable[AnyEvent]) -> Iterator[str]:
    return stream(Markdown(), info, events)


class Markdown:
    def opening(self, info: SessionInfo) -> str:
        rows = ["| " + name + " | " + _code(value).replace("|", r"\|") + " |" for name, value in facts_of(info)]
        return "\n".join([f"# {_line(title_of(info))}", "", "| | |", "|---|---|", *rows, "", ""])

    def entry(self, entry: AnyEntry) -> str:
        block = _block(entry)
        if entry.depth:
            quote = "> " * entry.depth
            block = "\n".join(quote + line if line else quote.rstrip() for line in block.split("\n"))
        return block + "\n\n"

    def closing(self) -> str:
        return ""


def _block(entry: AnyEntry) -> str:
    match entry:
        case MessageEntry(role=role, text=text):
            return f"## {SPEAKERS[role]}\n\n{contained(shown(text))}"
        case Thought(text=text):
            return f"<details><summary>Reasoning</summary>\n\n{contained(shown(text))}\n\n</details>"
        case Called(tool=tool, arguments=arguments):
            return f"**Tool** {_code(tool)}\n\n{_fenced(indented(arguments), 'json')}"
        case Returned(tool=tool, output=output, is_error=is_error, exit_code=exit_code):
            verdict = "failed" if is_error else "result"
            code = "" if exit_code is None else f" (exit code {exit_code})"
            return f"**Tool** {_code(tool)} {verdict}{code}\n\n{_fenced(output)}"
        case Changed(path=path, action=action, diff=diff):
            heading = f"**File** {_code(path)} {_line(action)}"
            return f"{heading}\n\n{_fenced(diff, 'diff')}" if diff else heading
        case Pictured(path=path):
            return f"**Image** {_code(path)}"
        case Asked(kind=kind, prompt=prompt, outcome=outcome):
            return f"**{ASKED[kind]}**\n\n{_fenced(prompt)}\n\n{_fenced(outcome or 'not answered')}"
        case Failed(message=message, code=code, detail=detail):
            heading = f"**Error** {_code(code)}" if code else "**Error**"
            return "\n\n".join([heading, _fenced(message), *([_fenced(detail)] if detail else [])])
        case Noted(label=label, detail=detail):
            return f"*{_line(label)}*" + (f"\n\n{_fenced(detail)}" if detail else "")
        case _:
            assert_never(entry)


def _fenced(text: str, language: str = "") -> str:
    """A fence longer than any run of back-ticks inside."""
    text = shown(text)
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text.removesuffix(chr(10))}\n{ticks}"


def _code(text: str) -> str:
    text = " ".join(shown(text).split())
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _line(text: str) -> str:
    """The text in one line, with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|&~])", r"\\\1", " ".join(shown(text).split()))
