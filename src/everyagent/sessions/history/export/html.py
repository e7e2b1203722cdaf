"""Exports a session as one HTML page without scripts or external files, in light or dark colours."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import assert_never

from everyagent.model.sessions import SessionInfo
from everyagent.sessions.history.export.document import stream
from everyagent.sessions.history.export.facts import data_uri, facts_of, indented, shown, title_of
from everyagent.sessions.history.export.style import STYLE
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

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_DEEPEST = 6


def export(info: SessionInfo, events: Iterable[AnyEvent]) -> Iterator[str]:
    return stream(Html(), info, events)


class Html:
    def opening(self, info: SessionInfo) -> str:
        title = escape(title_of(info))
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts_of(info))
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<header><h1>{title}</h1><dl>{facts}</dl></header>\n<main>\n"
        )

    def entry(self, entry: AnyEntry) -> str:
        name, body = _rendered(entry)
        depth = f" deep{min(entry.depth, _DEEPEST)}" if entry.depth else ""
        time = (
            f'<time datetime="{escape(entry.time)}" title="event {entry.sequence}">{escape(entry.time[11:19])}</time>'
        )
        return f'<article class="{name}{depth}">{time}{body}</article>\n'

    def closing(self) -> str:
        return "</main>\n</body>\n</html>\n"


def _rendered(entry: AnyEntry) -> tuple[str, str]:
    """The class of the entry, and its HTML."""
    match entry:
        case MessageEntry(role=role, text=text):
            return f"said {role or 'note'}", f"<h2>{SPEAKERS[role]}</h2><div class=text>{_text(text)}</div>"
        case Thought(text=text):
            return "thought", _folded("Reasoning", f"<div class=text>{_text(text)}</div>")
        case Called(tool=tool, arguments=arguments):
            return "called", f"<h3>{_text(tool)}</h3>{_pre(indented(arguments))}"
        case Returned(tool=tool, output=output, is_error=is_error, exit_code=exit_code):
            code = "" if exit_code is None else f", exit code {exit_code}"
            summary = f"{_text(tool)} {'failed' if is_error else 'returned'}{code}"
            return f"returned{' failed' if is_error else ''}", _folded(
                summary, _pre(output), is_open=len(output) < 2000
            )
        case Changed(path=path, action=action, diff=diff):
            return "changed", f"<h3>{_text(action)} <code>{_text(path)}</code></h3>{_diff(diff) if diff else ''}"
        case Pictured(path=path, mime=mime, data=data):
            uri = data_uri(mime, data)
            image = f'<img src="{uri}" alt="">' if uri else ""
            return "pictured", f"<h3>Image <code>{_text(path)}</code></h3>{image}"
        case Asked(kind=kind, prompt=prompt, outcome=outcome):
            answer = _text(outcome) if outcome else "not answered"
            return "asked", f"<h3>{ASKED[kind]}</h3>{_pre(prompt)}<div class=text>{answer}</div>"
        case Failed(message=message, code=code, detail=detail):
            heading = f"Error <code>{_text(code)}</code>" if code else "Error"
            stderr = _folded("stderr", _pre(detail)) if detail else ""
            return "failed", f"<h3>{heading}</h3><div class=text>{_text(message)}</div>{stderr}"
        case Noted(label=label, detail=detail):
            return "noted", f"<h3>{_text(label)}</h3>" + (f"<div class=text>{_text(detail)}</div>" if detail else "")
        case _:
            assert_never(entry)


def _text(text: str) -> str:
    return escape(shown(text))


def _pre(text: str) -> str:
    """HTML drops a line feed right after the tag, so one is always added."""
    return f"<pre>\n{_text(text)}</pre>"


def _folded(summary: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>"


def _diff(diff: str) -> str:
    lines = shown(diff).removesuffix("\n").split("\n")
    return f"<pre class=diff>\n{''.join(map(_diff_line, lines))}</pre>"


def _diff_line(line: str) -> str:
    text = escape(line) + "\n"
    if line.startswith(("+++", "---", "@@", "diff ", "index ")):
        return f"<b>{text}</b>"
    if line.startswith("+"):
        return f"<ins>{text}</ins>"
    if line.startswith("-"):
        return f"<del>{text}</del>"
    return f"<span>{text}</span>"
