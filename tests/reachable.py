"""Searches the memory of a running program for text that it should have forgotten."""

import gc
import types
from collections.abc import Iterator

#: Not part of the program's own state: code, and the calls that are running (the test's own among them).
_SKIPPED = (types.ModuleType, types.FrameType, types.CoroutineType, types.AsyncGeneratorType, types.GeneratorType)


def texts_with(mark: str, root: object) -> list[str]:
    """Every text that contains `mark` and that can be reached from `root`, once."""
    gc.collect()
    found = {text for each in _reachable(root) if mark in (text := _text(each))}
    return sorted(found)


def _text(each: object) -> str:
    match each:
        case str():
            return each
        case bytes():
            return each.decode("latin-1")
        case _:
            return ""


def _reachable(root: object) -> Iterator[object]:
    seen, waiting = {id(root)}, [root]
    while waiting:
        each = waiting.pop()
        yield each
        keys = each if isinstance(each, dict) else ()  # `get_referents` leaves out keys that are strings
        for referent in (*keys, *gc.get_referents(each)):
            if id(referent) not in seen and not isinstance(referent, _SKIPPED):
                seen.add(id(referent))
                waiting.append(referent)
