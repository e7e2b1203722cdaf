"""Keeps the tables of `docs/managed-agents.md` true: they are made of what the flows really did.

After a flow has changed: `EVERYAGENT_WRITE_PARITY=1 pytest tests/managed`, then
`python -m tests.managed.test_parity --write`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
from anthropic import Anthropic
from anthropic._resource import SyncAPIResource
from anthropic.types.beta.sessions import BetaManagedAgentsSessionEventType

from tests.managed.parity import FOLDER
from tests.managed.sdks import Report

PAGE = Path(__file__).parents[2] / "docs" / "managed-agents.md"
_TABLES = re.compile(r"(<!-- parity -->\n).*(<!-- end of parity -->)", re.DOTALL)
SDKS = {
    "python-2.8.0": "Python 2.8",
    "python-1.17.0": "1.17",
    "python-0.97.0": "0.97",
    "node-1.8.0": "npm 1.8",
}
#: What the SDK has beside its methods: ways to work with them, and other services.
_NOT_CALLS = frozenset({"with_raw_response", "with_streaming_response", "poller", "worker", "tool_runner"})
_RESOURCES = ("agents", "environments", "sessions", "vaults", "files", "skills", "memory_stores", "deployments")
STREAM_ONLY = ("session.deleted", "event_start", "event_delta")


def methods(resource: object, path: str) -> Iterator[str]:
    """Every call of the newest SDK below a resource."""
    for name in sorted(name for name in dir(type(resource)) if not name.startswith("_") and name not in _NOT_CALLS):
        found = getattr(resource, name)
        if isinstance(found, SyncAPIResource):
            yield from methods(found, f"{path}.{name}")
        elif callable(found):
            yield f"{path}.{name}"


def reports(agent: str, sdk: str = "*") -> Iterator[Report]:
    for path in sorted(FOLDER.glob(f"{agent}/*.{sdk}.json")):
        yield msgspec.json.decode(path.read_bytes(), type=Report)


def method_table() -> Iterator[str]:
    called = {sdk: {name for report in reports("*", sdk) for name in report.methods} for sdk in SDKS}
    beta = Anthropic(api_key="none").beta
    every = [name for resource in _RESOURCES for name in methods(getattr(beta, resource), f"beta.{resource}")]
    yield f"| method | {' | '.join(SDKS.values())} |\n|---|{'---|' * len(SDKS)}\n"
    for name in every:
        marks = ["✓" if name in called[sdk] else "–" for sdk in SDKS]
        yield f"| `{name.removeprefix('beta.')}` | {' | '.join(marks)} |\n"


def event_table() -> Iterator[str]:
    agents = sorted((folder.name for folder in FOLDER.iterdir()), key=lambda name: (name != "mock", name))
    seen = {agent: {kind for report in reports(agent) for kind in report.events} for agent in agents}
    yield f"| event | {' | '.join(agents)} |\n|---|{'---|' * len(agents)}\n"
    for kind in (*get_args(BetaManagedAgentsSessionEventType), *STREAM_ONLY):
        yield f"| `{kind}` | {' | '.join('✓' if kind in seen[agent] else '–' for agent in agents)} |\n"


def redrawn(page: str) -> str:
    tables = "".join((*method_table(), "\n", *event_table()))
    return _TABLES.sub(lambda found: found[1] + tables + found[2], page)


def test_the_tables_say_what_was_seen() -> None:
    assert PAGE.read_text() == redrawn(PAGE.read_text()), "run: python -m tests.managed.test_parity --write"


def test_no_method_was_seen_that_the_newest_sdk_does_not_have() -> None:
    beta = Anthropic(api_key="none").beta
    known = {name for resource in _RESOURCES for name in methods(getattr(beta, resource), f"beta.{resource}")}
    assert {name for report in reports("*") for name in report.methods} <= known


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(redrawn(PAGE.read_text()))
