"""`docs/conformance.md` is made of `clauses.toml`, and every clause has tests that exist.

After a change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 tests/conformance`, then read the diff.
"""

import os
import tomllib
from pathlib import Path

import msgspec
import pytest

from tests.test_docs import ROOT, functions

PAGE = ROOT / "docs" / "conformance.md"
HEAD = """# Conformance

<!-- made by tests/conformance/test_conformance.py from tests/conformance/clauses.toml -->

The clauses of the published universal schema, and of the events of the Managed Agents API, in our words. The tests of a
clause fail if it does not hold. Where we deliberately do otherwise, the reason is given. Rules beyond these:
[invariants.md](invariants.md).
"""


class Clause(msgspec.Struct, forbid_unknown_fields=True):
    says: str
    tests: list[str]
    departure: str = ""


class Section(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    clause: list[Clause]


class Clauses(msgspec.Struct, forbid_unknown_fields=True):
    section: list[Section]


SECTIONS = msgspec.convert(tomllib.loads((Path(__file__).parent / "clauses.toml").read_text()), Clauses).section
CLAUSES = [clause for section in SECTIONS for clause in section.clause]


def page() -> str:
    text = HEAD
    for section in SECTIONS:
        text += f"\n## {section.title}\n\n| clause | tests |\n|---|---|\n"
        for clause in section.clause:
            departure = f" **Departure:** {clause.departure}" if clause.departure else ""
            text += f"| {clause.says}{departure} | {' '.join(f'`{test}`' for test in clause.tests)} |\n"
    return text


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.says[:40])
def test_a_clause_names_tests_that_exist(clause: Clause) -> None:
    assert clause.tests
    for test in clause.tests:
        file, _, name = test.partition("::")
        assert name in functions(ROOT / file), test


def test_the_page_is_made_of_the_clauses() -> None:
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()
