"""Command line of the torture suite: runs rows with a progress bar and writes a report."""

import argparse
import math
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import anyio
from bench.machine import allow_many_files
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.torture import deaths, drain, failover, fuzz, hostile, kills, leases, nodes, power_loss, readers, soak
from tests.torture.report import Finished, markdown
from tests.torture.row import Outcome, RowFunction, Run


class Row(NamedTuple):
    fault: str
    run: RowFunction


ROWS: dict[str, Row] = {
    "kills": Row("kill -9 of the daemon, at random and at failpoints; 20 sessions, 50 readers", kills.run),
    "leases": Row("simulated crashes, pauses, partitions and outages, by seed", leases.run),
    "nodes": Row(
        "nodes of a cluster, its database and NATS killed, paused, stopped and cut off, under load", nodes.run
    ),
    "failover": Row("the PostgreSQL primary killed, its synchronous standby promoted, under load", failover.run),
    "power-loss": Row("power loss: database, write-ahead log and blobs", power_loss.run),
    "deaths": Row("death of the agent in 12 states by 4 signals", deaths.run),
    "hostile": Row("hostile output of agents: huge, malformed, torn, too much, none", hostile.run),
    "fuzz": Row("fuzzed lines for every decoder, seeded by recorded transcripts", fuzz.run),
    "readers": Row("readers that stall, idle and read a flood", readers.run),
    "drain": Row("SIGTERM to the daemon under load", drain.run),
    "soak": Row("sessions created, used and deleted for an hour", soak.run),
}


class _Arguments(argparse.Namespace):
    names: list[str]
    gate: bool
    minutes: float
    report: Path


def _arguments() -> _Arguments:
    parser = argparse.ArgumentParser("python -m tests.torture", description="Injects faults and checks the invariants.")
    parser.add_argument("names", nargs="*", metavar="row", help=f"of {', '.join(ROWS)}; all, if none is given")
    parser.add_argument("--gate", action="store_true", help="the size of make test, in some minutes")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="the limit on each row; one that ends early says so"
    )
    parser.add_argument("--report", type=Path, default=Path("torture-report.md"), help="where the report is written")
    asked = parser.parse_args(namespace=_Arguments())
    for name in asked.names:
        if name not in ROWS:
            parser.error(f"there is no row {name!r}; there are {', '.join(ROWS)}")
    return asked


def main() -> int:
    """The exit code: 0 if every row held and was in time, 1 if one did not or was not."""
    asked = _arguments()
    allow_many_files()
    finished: list[Finished] = []
    bar = Progress(
        TextColumn("{task.description:12}"), BarColumn(40), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True),
    )  # fmt: skip
    with bar:
        for name in asked.names or ROWS:
            finished.append(_finished(name, bar, asked))
            asked.report.write_text(markdown(finished))
            if failure := finished[-1].failure:
                bar.console.print(f"{name}: {failure}", markup=False)
    sys.stdout.write(f"{markdown(finished)}\nThe report is in {asked.report}.\n")
    return 1 if any(row.failure or row.outcome.missed for row in finished) else 0


def _finished(name: str, bar: Progress, asked: _Arguments) -> Finished:
    row, task = ROWS[name], bar.add_task(name, total=None)
    folder = Path(tempfile.mkdtemp(prefix="everyagent-torture-"))

    def announce(steps: int) -> None:
        bar.update(task, total=steps)

    run = Run(
        folder,
        "gate" if asked.gate else "full",
        announce,
        lambda: bar.advance(task),
        time.monotonic() + 60 * asked.minutes,
    )
    began, outcome, failure = time.monotonic(), Outcome(), ""
    try:
        outcome = anyio.run(row.run, run)
    except (Exception, ExceptionGroup):  # noqa: BLE001 - the other rows run all the same
        failure = traceback.format_exc(limit=-6)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began
    return Finished(name=name, fault=row.fault, outcome=outcome, seconds=seconds, failure=failure)


if __name__ == "__main__":
    sys.exit(main())
