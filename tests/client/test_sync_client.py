"""Generates `client/sync_client.py` from `client/async_client.py`, and checks that it is current.

After changing the async client: `make generate`.
"""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "src" / "everyagent" / "client"
SOURCE, GENERATED = FOLDER / "async_client.py", FOLDER / "sync_client.py"

DOCSTRING = '''"""The client for programs without an event loop.

Generated from `async_client.py` by `make generate`; do not edit.
"""'''

#: Patterns of the async file and their replacements, in order. The source is formatted, so line breaks are known.
REPLACEMENTS = [
    (r'\A""".*?"""', DOCSTRING),
    (r"from collections\.abc import .*", "import time\nfrom collections.abc import Callable, Generator, Sequence"),
    (r"\nimport anyio\n", "\n"),
    (r"anyio\.sleep", "time.sleep"),
    (r"Callable\[P, Coroutine\[None, None, T\]\]", "Callable[P, T]"),
    (r"-> Coroutine\[None, None, T\]", "-> T"),
    (r"Awaitable\[(\w+)\]", r"\1"),
    (r"AsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\(await ([^()]*\([^()]*\))\)\.", r"\1."),
    (r"\b(async|await) ", ""),
    (r"\baclosing\b", "closing"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\ba(close|read|iter_bytes)\b", r"\1"),
    (r"\bAsync(Client|BaseTransport|Session)\b", r"\1"),
    (r"for (\w+) in (.*):\n +yield \1\n", r"yield from \2\n"),
]


def generated() -> str:
    code = SOURCE.read_text()
    for pattern, replacement in REPLACEMENTS:
        code, count = re.subn(pattern, replacement, code, flags=re.DOTALL if pattern.startswith(r"\A") else 0)
        assert count, f"{pattern} matches nothing in {SOURCE.name}: remove it or correct it"
    return code


def test_the_sync_client_is_generated_from_the_current_async_client():
    assert GENERATED.read_text() == generated(), "run: make generate"


def test_nothing_asynchronous_is_left_in_the_generated_client():
    assert re.findall(r"\b(?:async|await|anyio|Async\w+|Awaitable|Coroutine)\b", generated().split('"""', 2)[2]) == []


if __name__ == "__main__" and "--write" in sys.argv:
    GENERATED.write_text(generated())
