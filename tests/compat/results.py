"""Results of programs that others wrote: one JSON file for each, from which docs/compatibility.md is made.

After a deliberate change: `EVERYAGENT_WRITE_COMPAT=1 pytest -n 0 tests/compat`, then read the diff.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec import Struct

IN_MAKE_TEST = "in `make test`"
TODAY = datetime.now(UTC).date().isoformat()
#: For tests that take too long for each run, or whose program is in no registry: they run when results are written.
by_hand = pytest.mark.skipif(not os.environ.get("EVERYAGENT_WRITE_COMPAT"), reason="run by hand")
FOLDER = Path(__file__).parent / "results"


class Refusal(Struct, frozen=True, kw_only=True):
    """Tests that fail for one reason. `count` is how many."""

    reason: str
    count: int


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`when` is a date if it was run by hand. `outcome` is for what has no tests to count."""

    program: str
    run: str
    passed: int = 0
    total: int = 0
    outcome: str = ""
    when: str = IN_MAKE_TEST
    refusals: list[Refusal] = []


def by_name() -> dict[str, Result]:
    files = sorted(FOLDER.glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes(), type=Result) for file in files}


def results() -> list[Result]:
    return [*by_name().values()]


def check_result(name: str, result: Result) -> None:
    """The result is the one that is checked in."""
    file = FOLDER / f"{name}.json"
    encoded = msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"
    if os.environ.get("EVERYAGENT_WRITE_COMPAT"):
        file.write_bytes(encoded)
    assert encoded.decode() == file.read_text()


class Reason(NamedTuple):
    """Why tests of this name fail: `error` is a pattern for the status and the text that they get."""

    test: str
    error: str
    reason: str


def refusals(failed: Mapping[str, str], reasons: Sequence[Reason]) -> list[Refusal]:
    """The reasons of failed tests, by a part of their names and their errors. A test without a reason is an error."""
    found: Counter[str] = Counter()
    for test, error in failed.items():
        known = (each.reason for each in reasons if each.test in test and re.search(each.error, error))
        reason = next(known, None)
        assert reason, f"{test} failed, and no reason is known for {error}"
        found[reason] += 1
    return [Refusal(reason=reason, count=count) for reason, count in sorted(found.items())]
