"""The torture report as Markdown: date, machine, commit, and each row's counts and figures."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.machine import processor
from msgspec import Struct

from tests.torture.row import Outcome

ROOT = Path(__file__).parents[2]


class Finished(Struct, frozen=True, kw_only=True):
    """A row that ran. `failure` is the violated invariant, or empty."""

    name: str
    fault: str
    outcome: Outcome
    seconds: float
    failure: str = ""


def markdown(rows: Sequence[Finished]) -> str:
    return "\n".join([_head(), "", _table(rows), "", *(_section(row) for row in rows)])


def _head() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"* Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n"
        f"* Machine: {os.cpu_count()} cores ({processor()}), {memory:.0f} GiB, {platform.system()} "
        f"{platform.release().partition('-')[0]}, Python {platform.python_version()}; "
        f"load average {os.getloadavg()[1]:.1f} at the end\n"
        f"* Commit: {_git('rev-parse', '--short', 'HEAD')}{' with changes' if _git('status', '--porcelain') else ''}"
    )


def _table(rows: Sequence[Finished]) -> str:
    lines = ["| row | fault | injected | result | time |", "|---|---|---:|---|---:|"]
    for row in rows:
        lines.append(f"| {row.name} | {row.fault} | {row.outcome.faults:,} | {_result(row)} | {row.seconds:,.0f} s |")
    return "\n".join(lines)


def _result(row: Finished) -> str:
    if row.failure:
        return "**failed**"
    if row.outcome.missed:
        return "**too slow**"
    return "in part" if row.outcome.partial else "passed"


def _section(row: Finished) -> str:
    lines = [f"### {row.name}", ""]
    lines += [f"* {what}: {figure}" for what, figure in row.outcome.figures.items()]
    lines += [f"* too slow: {each}" for each in row.outcome.missed]
    lines += [f"* not run: {each}" for each in row.outcome.partial]
    lines += ["* failed:", "", "```", row.failure, "```"] if row.failure else []
    return "\n".join([*lines, ""])


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
