"""Expects a call to raise an API error, and returns it."""

from collections.abc import Callable
from typing import cast

from loose import Loose


def refused(kind: type[Exception], call: Callable[[], object]) -> Loose:
    try:
        call()
    except kind as error:
        return cast(Loose, error)
    raise AssertionError(f"no {kind.__name__}")
