"""Checks of documents (links, named tests, paths) and of the form of the source tree."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [file for folder in ("src", "tests", "bench") for file in sorted((ROOT / folder).rglob("*.py"))]
INVARIANTS = ROOT / "docs" / "invariants.md"
LONGEST_FILE = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
_TEST = re.compile(r"`((?:tests|src)/[\w/.-]+\.py)::(\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_LOCAL_PATH = re.compile(r"/work/|/home/\w|/root/|/Users/|file://")


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def functions(file: Path) -> set[str]:
    if not file.exists():
        return set()
    tree = ast.walk(ast.parse(file.read_text()))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}


def rules() -> list[str]:
    """The rows of the tables, without the heads."""
    rows = [line for line in INVARIANTS.read_text().splitlines() if line.startswith("|")]
    return [row for row in rows if not row.startswith(("| rule", "|---"))]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.split("|")[1].strip()[:60])
def test_every_rule_names_a_test_that_exists(rule: str):
    named = _TEST.findall(rule)
    assert named, f"this rule names no test: {rule}"
    assert [f"{file}::{test}" for file, test in named if test not in functions(ROOT / file)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_local_link_leads_somewhere(document: Path):
    links = [link.partition("#")[0] for link in _LINK.findall(document.read_text())]
    local = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "Makefile", ROOT / "pyproject.toml"], ids=name)
def test_no_document_names_a_place_on_somebodys_machine(document: Path):
    assert _LOCAL_PATH.findall(document.read_text()) == []


@pytest.mark.parametrize("file", SOURCES, ids=name)
def test_no_source_file_is_long_or_has_a_vague_name(file: Path):
    assert len(file.read_text().splitlines()) <= LONGEST_FILE
    assert not VAGUE_NAMES & {file.stem, *file.relative_to(ROOT).parent.parts}


def test_the_package_imports_no_tests():
    imports = re.compile(r"^\s*(?:from|import) tests\b", re.MULTILINE)
    assert [name(file) for file in (ROOT / "src").rglob("*.py") if imports.search(file.read_text())] == []


def test_no_two_test_files_have_one_name():
    names = Counter(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [each for each, count in names.items() if count > 1] == []


def test_the_changelog_has_the_version_of_the_package():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert f"## [{version[1]}]" in (ROOT / "CHANGELOG.md").read_text()
