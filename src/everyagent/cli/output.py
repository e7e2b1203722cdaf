"""Terminal output: tables and messages for people, JSON for programs."""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from everyagent.terminal_text import visible, visible_json

#: Used where no terminal is attached, so that nothing is wrapped or cut.
_UNWRAPPED_WIDTH = 10_000
#: The last column of a table, which tells most, gets at least so much of a narrow terminal.
_LAST_COLUMN = 20


@cache
def out() -> Console:
    return _console(stderr=False)


@cache
def err() -> Console:
    return _console(stderr=True)


class SafeConsole(Console):
    """A console whose only terminal sequences are those of its styles."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def _console(*, stderr: bool) -> Console:
    plain = bool(os.environ.get("NO_COLOR"))
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return SafeConsole(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=stderr,
        color_system=None if plain or not terminal else "auto",
        width=None if terminal else _UNWRAPPED_WIDTH,
    )


def say(text: str, style: str | None = None) -> None:
    """Print a message to stderr."""
    err().print(Text(text, style=style or ""))


def print_json(value: object) -> None:
    """Print one JSON document: indented on a terminal, else on one line."""
    encoded = msgspec.json.encode(value)
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    print_line(encoded)


def print_line(encoded: bytes) -> None:
    """Print one JSON document of a stream."""
    sys.stdout.write(visible_json(encoded.decode()) + "\n")
    sys.stdout.flush()


def write_text(text: str) -> None:
    """Write text of an agent to stdout as it comes."""
    sys.stdout.write(visible(text))
    sys.stdout.flush()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print columns two spaces apart, without rules, so that `awk` can split them.

    On a narrow terminal the first column, which has the ids, stays whole: columns before the last are left out, from
    the right, and the last is cut.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = [max([cell_len(name), *(row[number].cell_len for row in cells)]) for number, name in enumerate(columns)]
    console = out()
    *shown, last = _fitting(widths, console.width)
    left = max(1, console.width - sum(widths[number] + 2 for number in shown))
    for row in [[Text(name, style="bold") for name in columns], *cells]:
        line = Text()
        for number in shown:
            row[number].truncate(widths[number] + 2, pad=True)
            line.append_text(row[number])
        row[last].truncate(left, overflow="ellipsis")
        line.append_text(row[last])
        line.rstrip()
        console.print(line, soft_wrap=True)


def _fitting(widths: Sequence[int], width: int) -> list[int]:
    """The numbers of the columns that are shown."""
    *shown, last = range(len(widths))
    while len(shown) > 1 and sum(widths[each] + 2 for each in shown) + min(widths[last], _LAST_COLUMN) > width:
        shown.pop()
    return [*shown, last]


def print_facts(facts: Iterable[tuple[str, str | Text]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, value)
    _print_unpadded(table)


def _print_unpadded(table: Table) -> None:
    """Print a table without the spaces with which rich pads each line."""
    console = out()
    with console.capture() as captured:
        console.print(table)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
    sys.stdout.flush()


def age(millis: int) -> str:
    """The time since then, in one unit: `5m ago`."""
    seconds = max(0, time.time() - millis / 1000)
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return f"{int(seconds)}s ago"


def one_line(text: str, width: int = 100) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
