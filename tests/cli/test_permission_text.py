"""Permission requests of all agents, as a person sees them in the terminal."""

import json
from pathlib import Path

import msgspec
import pytest

from everyagent.cli.permission_text import always_allows, request_text
from everyagent.model.events import PermissionRequested
from everyagent.model.parts import Json

GOLDEN = Path(__file__).parent.parent / "golden"


def _ask(input: Json, *suggestions: Json) -> PermissionRequested:
    return PermissionRequested(
        permission_id="p", action="x", status="requested", tool="x", input=input, suggestions=list(suggestions)
    )


def _recorded() -> list[PermissionRequested]:
    lines = [line for file in GOLDEN.glob("*/*/events.jsonl") for line in file.read_text().splitlines()]
    events = [json.loads(line) for line in lines if '"permission.requested"' in line]
    return [msgspec.convert(event["data"], PermissionRequested) for event in events]


@pytest.mark.parametrize(
    ("input", "text"),
    [
        ({"command": "ls"}, "x wants to run: ls"),
        ({"command": "cat <<E\n# rm\nE"}, "x wants to run:\n    cat <<E\n    # rm\n    E"),
        (
            {"file_path": "/a", "old_string": "b\nc", "new_string": "b\nd"},
            "x wants to change /a:\n     b\n    -c\n    +d",
        ),
        ({"path": "/a", "content": "one\ntwo\n"}, "x wants to write /a:\n    +one\n    +two"),
        (
            {"filepath": "/a", "diff": "Index: /a\n=======\n--- /a\n+++ /a\n@@ -1 +1 @@\n-b\n+c\n"},
            "x wants to change /a:\n    @@ -1 +1 @@\n    -b\n    +c",
        ),
        (
            {"changes": [{"path": "/a", "diff": "@@ -1 +1 @@\n-b\n+c\n"}, {"path": "/d", "diff": "+e\n"}]},
            "x wants to change /a:\n    @@ -1 +1 @@\n    -b\n    +c\nx wants to change /d:\n    +e",
        ),
        ({"changes": "none"}, "x wants to run: none"),
        ({"a": 2}, 'x wants to run:\n    {\n      "a": 2\n    }'),
        (None, "x wants to run: "),
    ],
)
def test_the_command_or_the_diff_is_shown_whole(input: Json, text: str):
    assert request_text(_ask(input)).plain == text


@pytest.mark.parametrize(
    ("suggestion", "text"),
    [
        (
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
                "destination": "localSettings",
            },
            "Bash(ls *) in this project",
        ),
        ({"allow_prefix": ["git", "add"]}, "commands that begin with `git add`"),
        ({"always": ["echo *", "exit *"]}, "x(echo *), x(exit *)"),
        ({"tool": "Bash", "detail": "ls"}, "Bash(ls)"),
        ({"option_id": "1", "kind": "allow_always", "name": "Always allow"}, "“Always allow”"),
        ({"option_id": "1", "kind": "allow_once", "name": "Allow"}, "such calls of x, for the rest of the session"),
        ({"rules": 1}, '{"rules":1}'),
    ],
)
def test_it_says_what_always_will_allow(suggestion: Json, text: str):
    assert always_allows(_ask({}, suggestion)) == text


def test_every_recorded_request_is_shown_with_all_lines_of_its_input():
    asks = _recorded()
    assert len(asks) > 100
    for ask in asks:
        shown = request_text(ask).plain
        match ask.input:
            case {"command": str(text)} | {"content": str(text)} | {"new_string": str(text)}:
                assert all(line in shown for line in text.split("\n"))
            case _:
                assert shown
        assert always_allows(ask)
