"""The coverage matrix of `README.md` and `docs/agents/README.md`: made from the events of all recorded exchanges.

After a change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 tests/agents/test_coverage_matrix.py`, then read the diff.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from everyagent.agents.stability import stability_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
PAGES = [ROOT / "README.md", ROOT / "docs" / "agents" / "README.md"]
BEGIN, END = "<!-- made by tests/agents/test_coverage_matrix.py -->", "<!-- end -->"
AGENTS = (
    "claude",
    "codex",
    "opencode",
    "amp",
    "copilot",
    "gemini",
    "qwen",
    "kimi",
    "goose",
    "pi",
    "vibe",
    "cline",
    "auggie",
    "droid",
)


class Part(msgspec.Struct):
    type: str = ""
    output: str = ""
    exit_code: int | None = None
    diff: str | None = None
    mcp_server: str | None = None


class Item(msgspec.Struct):
    kind: str = ""
    role: str | None = None
    name: str | None = None
    subagent: str | None = None
    content: list[Part] = []


class Data(msgspec.Struct):
    item: Item = msgspec.field(default_factory=Item)
    kind: str = ""
    usage: Mapping[str, object] | None = None
    cost_usd: float | None = None
    retry: Mapping[str, object] | None = None
    title: str | None = None
    native_session_id: str | None = None
    permission_mode: str | None = None
    stop_reason: str = ""


class Row(msgspec.Struct):
    type: str
    synthetic: bool
    data: Data


_rows = msgspec.json.Decoder(Row)


def _part(test: Callable[[Part], object]) -> Callable[[Row], object]:
    return lambda row: row.type == "item.completed" and any(map(test, row.data.item.content))


FEATURES: dict[str, Callable[[Row], object]] = {
    "messages": _part(lambda part: part.type == "text"),
    "deltas of text": lambda row: row.type == "item.delta" and row.data.kind == "text",
    "reasoning": lambda row: row.data.kind == "reasoning" or _part(lambda part: part.type == "reasoning")(row),
    "tool calls": _part(lambda part: part.type == "tool_call"),
    "output of tools": _part(lambda part: part.type == "tool_result" and part.output),
    "output while a command runs": lambda row: row.type == "item.delta" and row.data.kind == "tool_output",
    "exit codes": _part(lambda part: part.exit_code is not None),
    "files": _part(lambda part: part.type == "file_ref"),
    "images": _part(lambda part: part.type == "image"),
    "diffs": _part(lambda part: part.diff),
    "MCP tools": _part(lambda part: part.mcp_server),
    "sub-agents": lambda row: row.data.item.subagent,
    "start of the session": lambda row: row.type == "session.updated" and row.data.native_session_id,
    "echo of user messages": lambda row: (
        row.type == "item.completed" and row.data.item.role == "user" and not row.data.item.subagent
    ),
    "permissions": lambda row: row.type == "permission.requested",
    "questions": lambda row: row.type == "question.requested",
    "plans and to-do lists": lambda row: row.data.item.name in ("plan", "todos", "todo"),
    "mode changes": lambda row: row.type == "session.updated" and row.data.permission_mode,
    "titles": lambda row: row.type == "session.updated" and row.data.title,
    "usage of requests": lambda row: row.type == "model.responded",
    "usage of turns": lambda row: row.type == "turn.ended" and row.data.usage,
    "cost": lambda row: row.type == "turn.ended" and row.data.cost_usd,
    "errors": lambda row: row.type == "error",
    "retries": lambda row: row.type == "error" and row.data.retry,
    "interrupted turns": lambda row: row.type == "turn.ended" and row.data.stop_reason == "interrupted",
}


def rows(agent: str) -> Iterator[Row]:
    """The events of the agent itself; the daemon's own are left out."""
    for file in sorted((GOLDEN / agent).glob("*/events.jsonl")):
        for line in file.read_bytes().splitlines():
            row = _rows.decode(line)
            if not row.synthetic:
                yield row


def covered(agent: str) -> set[str]:
    missing = dict(FEATURES)
    for row in rows(agent):
        for name in [name for name, test in missing.items() if test(row)]:
            del missing[name]
    return set(FEATURES) - set(missing)


def matrix() -> str:
    seen = {agent: covered(agent) for agent in AGENTS}
    head = f"| | {' | '.join(f'`{agent}`' for agent in AGENTS)} |\n|---|{'---|' * len(AGENTS)}\n"
    head += f"| stability | {' | '.join(stability_of(agent) for agent in AGENTS)} |\n"
    return head + "".join(
        f"| {name} | {' | '.join('yes' if name in seen[agent] else '' for agent in AGENTS)} |\n" for name in FEATURES
    )


@pytest.mark.parametrize("page", PAGES, ids=["README", "docs"])
def test_the_coverage_matrix_is_what_recorded_exchanges_show(page: Path) -> None:
    before, _, rest = page.read_text().partition(f"{BEGIN}\n")
    shown, _, after = rest.partition(END)
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        page.write_text(f"{before}{BEGIN}\n{matrix()}{END}{after}")
    assert shown == matrix() or os.environ.get("EVERYAGENT_WRITE_GOLDEN")
