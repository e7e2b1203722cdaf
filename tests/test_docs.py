"""Tests that the documents match the code, and that source files are short and well named."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from everyagent.api.routes import ROUTES
from everyagent.client import AsyncClient

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [file for folder in ("src", "tests", "bench") for file in sorted((ROOT / folder).rglob("*.py"))]
INVARIANTS = ROOT / "docs" / "invariants.md"
LONGEST_FILE = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
_TEST = re.compile(r"`((?:tests|src)/[\w/.-]+\.py)::(\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LOCAL_PATH = re.compile(r"/work/|/home/\w|/root/|/Users/|file://")


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def functions(file: Path) -> set[str]:
    if not file.exists():
        return set()
    tree = ast.walk(ast.parse(file.read_text()))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}


def rules() -> list[str]:
    """The rows of the tables of rules, without their headers."""
    sections = INVARIANTS.read_text().split("\n## ")[1:]
    rows = [line for section in sections for line in section.splitlines() if line.startswith("|")]
    return [row for row in rows if not row.startswith(("| rule", "|---"))]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.split("|")[1].strip()[:60])
def test_every_rule_names_a_test_that_exists(rule: str):
    named = _TEST.findall(rule)
    assert named, f"this rule names no test: {rule}"
    assert [f"{file}::{test}" for file, test in named if test not in functions(ROOT / file)] == []


def anchors(document: Path) -> set[str]:
    """The fragments that GitHub gives to the headings."""
    headings = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(document.read_text())]
    return {"", *(heading.replace(" ", "-") for heading in headings)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_local_link_has_a_target(document: Path):
    links = [link for link in _LINK.findall(document.read_text()) if not re.match(r"[a-z]+:", link)]
    for path, _, fragment in (link.partition("#") for link in links):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not fragment or fragment in anchors(target), f"{path}#{fragment}"


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "Makefile", ROOT / "pyproject.toml"], ids=name)
def test_no_document_contains_a_path_of_a_local_machine(document: Path):
    assert _LOCAL_PATH.findall(document.read_text()) == []


def test_the_page_on_the_client_names_every_method():
    page = (ROOT / "docs" / "client.md").read_text()
    methods = {method for method in vars(AsyncClient) if not method.startswith("_")} - {"aclose", "call", "url"}
    assert sorted(method for method in methods if f"`{method}`" not in page) == []


def test_the_page_on_the_api_names_every_route():
    page = (ROOT / "docs" / "api.md").read_text()
    named = {re.sub(r"\{\w+\}", "{}", path) for path in re.findall(r"/[\w/{}.-]+", page)}
    shortened = ("/v1/agents/{}/", "/v1/fs/", "/v1/sessions/{}/questions/{}/")
    routes = {re.sub(r"\{\w+\}", "{}", route.path) for route in ROUTES}
    assert sorted(route for route in routes - named if not route.startswith(shortened)) == []


@pytest.mark.parametrize("file", SOURCES, ids=name)
def test_no_source_file_is_long_or_has_a_vague_name(file: Path):
    assert len(file.read_text().splitlines()) <= LONGEST_FILE
    assert not VAGUE_NAMES & {file.stem, *file.relative_to(ROOT).parent.parts}


def test_the_package_imports_no_tests():
    imports = re.compile(r"^\s*(?:from|import) tests\b", re.MULTILINE)
    assert [name(file) for file in (ROOT / "src").rglob("*.py") if imports.search(file.read_text())] == []


def test_no_two_test_files_have_the_same_name():
    names = Counter(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [each for each, count in names.items() if count > 1] == []


def test_the_changelog_has_a_section_for_the_current_version():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert f"## [{version[1]}]" in (ROOT / "CHANGELOG.md").read_text()
