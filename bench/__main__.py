"""Command line of the benchmarks: runs them and prints the figures."""

import argparse
import sys
from collections.abc import Callable

from msgspec.structs import replace
from rich.console import Console

from bench import (
    acp,
    amp,
    claude,
    cluster,
    codex,
    codex_process,
    fanout,
    flood,
    growth,
    inspector,
    isolation,
    latency,
    listing,
    managed,
    memory,
    opencode,
    peers,
    runner,
    start,
)
from bench.figure import Figure, Unmeasured
from bench.machine import allow_many_files
from bench.plan import QUICK, Plan
from bench.report import print_table, to_json
from everyagent.client import ClientError

MEASUREMENTS: dict[str, Callable[[Plan], list[Figure]]] = {
    "flood": flood.measure,
    "fanout": fanout.measure,
    "latency": latency.measure,
    "start": start.measure,
    "memory": memory.measure,
    "list": listing.measure,
    "managed": managed.measure,
    "growth": growth.measure,
    "growth-postgres": growth.measure_postgres,
    "cluster": cluster.measure,
    "claude": claude.measure,
    "acp": acp.measure,
    "codex": codex.measure,
    "codex-process": codex_process.measure,
    "opencode": opencode.measure,
    "amp": amp.measure,
    "inspector": inspector.measure,
    "isolation": isolation.measure,
    "runner": runner.measure,
}
#: Measured only if it is named: it fetches another program.
ON_REQUEST: dict[str, Callable[[Plan], list[Figure]]] = {"peers": peers.measure}


def main() -> int:
    """The exit code: 0 if everything was measured, whatever the figures are."""
    asked = _arguments()
    if not sys.platform.startswith("linux"):
        print("The bench reads /proc and pins processes to cores: it needs Linux.", file=sys.stderr)
        return 2
    allow_many_files()
    plan = QUICK if asked.quick else Plan()
    plan = replace(plan, log_events=asked.events or plan.log_events, repeats=asked.repeats or plan.repeats)
    figures: list[Figure] = []
    failures: dict[str, str] = {}
    progress = Console(stderr=True)
    for name in asked.names or MEASUREMENTS:
        with progress.status(f"measuring {name}"):
            try:
                figures += (MEASUREMENTS | ON_REQUEST)[name](plan)
            except (Unmeasured, ClientError, OSError) as failure:
                failures[name] = str(failure)
    if asked.json:
        print(to_json(figures, failures))
    else:
        print_table(figures, failures)
    return 1 if failures else 0


class _Arguments(argparse.Namespace):
    names: list[str]
    quick: bool
    json: bool
    events: int | None
    repeats: int | None


def _arguments() -> _Arguments:
    parser = argparse.ArgumentParser("python -m bench", description="What is fast, what is small, and by how much.")
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of {', '.join(MEASUREMENTS)}; all, if none is given; or peers"
    )
    parser.add_argument("--quick", action="store_true", help="smaller and fewer runs: under two minutes in all")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--events", type=int, help="how far the log grows (10_000_000; --quick: 1_000_000)")
    parser.add_argument("--repeats", type=int, help="how often each figure is taken (5; --quick: 3)")
    asked = parser.parse_args(namespace=_Arguments())
    for name in asked.names:
        if name not in MEASUREMENTS | ON_REQUEST:
            parser.error(f"there is no measurement {name!r}; there are {', '.join(MEASUREMENTS | ON_REQUEST)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
