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

The {count} clauses of the published universal schema, and of the events of the Managed Agents API, in our words. The
tests of a clause fail if it does not hold. {departures} clauses have a deliberate departure, with its reason. Rules
beyond these: [invariants.md](invariants.md).

| document | what it is | clauses |
|---|---|---|
{documents}
A clause that several documents have is one row here, and the fields of one table are one row where one test holds them
all. Only what a program can show is a clause: not introductions, links, names of products and plans for the future.
"""
DOCUMENTS = {
    "reference": "the reference of the universal schema, with its tables of fields",
    "transcript": "the schema of session transcripts: the same tables, and the coverage of each agent",
    "specification": "the specification of the universal schema, in both of its published forms",
    "events": "the description of the events of managed sessions",
}
QUARANTINE = ROOT / "tests" / "quarantine.txt"


class Clause(msgspec.Struct, forbid_unknown_fields=True):
    """`source` are its documents, each as `reference, transcript: Section`."""

    source: list[str]
    says: str
    tests: list[str]
    departure: str = ""

    @property
    def documents(self) -> set[str]:
        return {name.strip() for each in self.source for name in each.partition(":")[0].split(",")}


class Section(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    clause: list[Clause]


class Clauses(msgspec.Struct, forbid_unknown_fields=True):
    section: list[Section]


SECTIONS = msgspec.convert(tomllib.loads((Path(__file__).parent / "clauses.toml").read_text()), Clauses).section
CLAUSES = [clause for section in SECTIONS for clause in section.clause]


def page() -> str:
    documents = "".join(
        f"| {name} | {what} | {sum(name in clause.documents for clause in CLAUSES)} |\n"
        for name, what in DOCUMENTS.items()
    )
    departures = sum(bool(clause.departure) for clause in CLAUSES)
    text = HEAD.format(count=len(CLAUSES), departures=departures, documents=documents)
    for section in SECTIONS:
        text += f"\n## {section.title}\n\n| clause | document | tests |\n|---|---|---|\n"
        for clause in section.clause:
            departure = f" **Departure:** {clause.departure}" if clause.departure else ""
            tests = " ".join(f"`{test}`" for test in clause.tests)
            text += f"| {clause.says}{departure} | {'; '.join(clause.source)} | {tests} |\n"
    return text


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.says[:40])
def test_a_clause_names_its_documents_and_tests_that_run(clause: Clause) -> None:
    assert clause.source
    assert clause.documents <= DOCUMENTS.keys()
    assert clause.tests
    quarantined = QUARANTINE.read_text()
    for test in clause.tests:
        file, _, name = test.partition("::")
        assert name in functions(ROOT / file), test
        assert name not in quarantined, f"{test} is not relied on"


def test_no_clause_is_there_twice() -> None:
    assert len({clause.says for clause in CLAUSES}) == len(CLAUSES)


def test_the_page_is_made_of_the_clauses() -> None:
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()
