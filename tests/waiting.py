"""Waits for a condition, with one limit for all tests.

The limit is far beyond what a loaded machine needs. It costs nothing while tests pass.
"""

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT_SECONDS = 180.0
_POLL_SECONDS = 0.02

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], failure: str | Callable[[], object] = "") -> T:
    """The first true value of `condition`. `failure` is the text of an error, or makes it."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not within {LIMIT_SECONDS:.0f} seconds: {failure if isinstance(failure, str) else failure()}"
            )
        time.sleep(_POLL_SECONDS)
    return found
