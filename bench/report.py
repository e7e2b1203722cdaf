"""Prints the figures as a table or as one JSON object."""

import os
import platform
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from bench.figure import Figure
from bench.machine import processor

_COLOURS = {"goal": "green", "ok": "yellow", "below": "red", "": "dim"}


def print_table(figures: Sequence[Figure], failures: Mapping[str, str]) -> None:
    table = Table(title=_machine(), title_justify="left", caption_justify="left", caption=_CAPTION)
    table.add_column("what", ratio=3)
    for name in ("measured", "min-max", "bar", "goal", "measured/bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("load", justify="right")
    table.add_column("note", ratio=2, style="dim")
    for figure in figures:
        table.add_row(*_row(figure))
    for name, why in failures.items():
        table.add_row(name, "[red]failed[/]", "", "", "", "", "", "", why)
    Console(width=None if Console().is_terminal else 180).print(table)


_CAPTION = (
    "Median of the repeats. goal: as good as we want it; ok: not below the bar; below: worse than the bar. "
    "Absolute figures are this machine's at this load; only ratios travel."
)


def _row(figure: Figure) -> list[str]:
    samples, standard, ratio = figure.samples, figure.standard, figure.ratio
    return [
        figure.what,
        f"[bold]{_number(figure.measured)}[/] {figure.unit}",
        f"{_number(min(samples))}-{_number(max(samples))}",
        _number(standard.bar) if standard else "",
        _number(standard.goal) if standard else "",
        f"{ratio:.2f}" if ratio is not None else "",
        f"[{_COLOURS[figure.verdict]}]{figure.verdict}[/]",
        f"{figure.load:.1f}",
        figure.note,
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def to_json(figures: Sequence[Figure], failures: Mapping[str, str]) -> str:
    rows = [
        {
            **msgspec.to_builtins(figure),
            "measured": figure.measured,
            "ratio": figure.ratio,
            "verdict": figure.verdict,
        }
        for figure in figures
    ]
    return msgspec.json.encode({"machine": _machine(), "figures": rows, "failures": dict(failures)}).decode()


def _machine() -> str:
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} x {processor()}, {system}"
