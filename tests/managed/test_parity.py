"""Generates the tables of `docs/managed-agents.md` from the flows' reports, and checks that they are current.

After a flow has changed: `EVERYAGENT_WRITE_PARITY=1 pytest tests/managed`, then
`python -m tests.managed.test_parity --write`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from anthropic.types.beta.sessions import BetaManagedAgentsSessionEventType

from tests.managed import parity
from tests.managed.parity import FOLDER, INVENTORY
from tests.managed.sdks import NODE, PYTHON, Report, Sdk

PAGE = Path(__file__).parents[2] / "docs" / "managed-agents.md"
_TABLES = re.compile(r"(<!-- parity -->\n).*(<!-- end of parity -->)", re.DOTALL)
SDKS = {
    "python-2.8.0": "Python 2.8",
    "python-1.17.0": "1.17",
    "python-0.97.0": "0.97",
    "node-1.10.0": "npm 1.10",
}
#: Events that an agent does not produce, and the reason.
CANNOT: dict[str, tuple[tuple[str, ...], str]] = {
    "workflow_run.": (("mock", "amp", "claude", "codex", "opencode"), "workflows are not supported"),
    "agent.thread_context_compacted": (("amp",), "Amp does not compact on request, and does not report compaction"),
    "agent.thread_message_sent": (
        ("amp", "codex"),
        "Amp does not report its sub-agents, Codex does not report their prompts",
    ),
    "agent.thread_message_received": (("amp",), "Amp does not report its sub-agents"),
    "session.thread_status_rescheduled": (
        ("amp", "claude"),
        "Amp does not report its sub-agents, Claude Code does not report which of them retries",
    ),
    "session.thread_": (("amp",), "Amp does not report its sub-agents"),
    "session.status_rescheduled": (("amp",), "Amp does not report retries"),
}
STREAM_ONLY = ("session.deleted", "event_start", "event_delta")


def known(sdk: str) -> list[str]:
    """Every method of an SDK."""
    return msgspec.json.decode((INVENTORY / f"{sdk}.json").read_bytes(), type=Report).methods


def called(sdk: str) -> set[str]:
    return {name for report in reports("*", sdk) for name in report.methods}


def reports(agent: str, sdk: str = "*") -> Iterator[Report]:
    for path in sorted(FOLDER.glob(f"{agent}/*.{sdk}.json")):
        yield msgspec.json.decode(path.read_bytes(), type=Report)


def method_table() -> Iterator[str]:
    yield f"| method | {' | '.join(SDKS.values())} |\n|---|{'---|' * len(SDKS)}\n"
    there, seen = {sdk: known(sdk) for sdk in SDKS}, {sdk: called(sdk) for sdk in SDKS}
    for name in sorted(there[next(iter(SDKS))]):
        marks = ["✓" if name in seen[sdk] else "–" if name in there[sdk] else " " for sdk in SDKS]
        yield f"| `{name.removeprefix('beta.')}` | {' | '.join(marks)} |\n"


def event_table() -> Iterator[str]:
    agents = sorted((folder.name for folder in FOLDER.iterdir()), key=lambda name: (name != "mock", name))
    seen = {agent: {kind for report in reports(agent) for kind in report.events} for agent in agents}
    yield f"| event | {' | '.join(agents)} |\n|---|{'---|' * len(agents)}\n"
    for kind in (*get_args(BetaManagedAgentsSessionEventType), *STREAM_ONLY):
        yield f"| `{kind}` | {' | '.join('✓' if kind in seen[agent] else '–' for agent in agents)} |\n"


def legend() -> Iterator[str]:
    yield "\nA – in the table of events marks an event that the agent cannot produce:\n\n"
    for kind, (_, why) in CANNOT.items():
        yield f"- `{kind}{'*' if kind[-1] in '._' else ''}`: {why}.\n"


def redrawn(page: str) -> str:
    tables = "".join((*method_table(), "\n", *event_table(), *legend()))
    return _TABLES.sub(lambda found: found[1] + tables + found[2], page)


def test_the_tables_match_the_recorded_reports() -> None:
    assert PAGE.read_text() == redrawn(PAGE.read_text()), "run: python -m tests.managed.test_parity --write"


def test_every_event_is_either_recorded_or_listed_as_impossible() -> None:
    for folder in FOLDER.iterdir():
        seen = {kind for report in reports(folder.name) for kind in report.events}
        for kind in {*get_args(BetaManagedAgentsSessionEventType), *STREAM_ONLY}:
            cannot = any(kind.startswith(each) and folder.name in agents for each, (agents, _) in CANNOT.items())
            assert (kind in seen) != cannot, f"{kind} of {folder.name}"


@pytest.mark.parametrize("sdk", [*PYTHON, NODE], ids=lambda sdk: sdk.name)
def test_the_inventory_lists_the_methods_of_the_sdk(sdk: Sdk) -> None:
    parity.check_inventory(sdk, sdk.run("inventory", "http://127.0.0.1:1"))


@pytest.mark.parametrize("sdk", SDKS)
def test_every_method_was_called(sdk: str) -> None:
    assert called(sdk) == set(known(sdk))


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(redrawn(PAGE.read_text()))
