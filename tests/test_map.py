"""Tests that `docs/map.md` and `docs/architecture.md` match the source tree."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "everyagent"
MAP = ROOT / "docs" / "map.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
#: Deeper folders are found from the folder above them.
MAPPED_DEPTH = 2
#: A code span that names a file or a folder; commands and routes do not match.
_PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`")


def folders() -> list[str]:
    packages = [init.parent.relative_to(PACKAGE) for init in PACKAGE.rglob("__init__.py")]
    return sorted(f"{folder.as_posix()}/" for folder in packages if 0 < len(folder.parts) <= MAPPED_DEPTH)


def test_every_folder_of_the_package_is_a_package():
    parents = {module.parent for module in PACKAGE.rglob("*.py")}
    assert [folder for folder in parents if not (folder / "__init__.py").exists()] == []


def test_every_module_has_a_docstring():
    modules = PACKAGE.rglob("*.py")
    assert [str(module) for module in modules if not ast.get_docstring(ast.parse(module.read_text()))] == []


@pytest.mark.parametrize("folder", folders())
def test_the_map_describes_the_folder(folder: str):
    assert re.search(rf"^ *\* `{folder}` \w", MAP.read_text(), re.MULTILINE), f"add a line for {folder} to docs/map.md"


@pytest.mark.parametrize("page", [MAP, ARCHITECTURE], ids=lambda page: page.name)
def test_every_path_that_the_page_names_exists(page: Path):
    named = _PATH.findall(page.read_text())
    assert named
    assert [path for path in named if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_the_architecture_page_walks_both_ways_in_at_most_eight_hops():
    """A hop is a linked file. Each step has one, so that no step hides several."""
    walks = [section for section in ARCHITECTURE.read_text().split("\n## ") if "\n1. " in section]
    steps = [re.split(r"^\d+\. ", walk, flags=re.MULTILINE)[1:] for walk in walks]
    assert len(walks) == 2
    assert [[len(re.findall(r"\]\(\.\./src/", step)) for step in walk] for walk in steps] == [
        [1] * len(walk) for walk in steps
    ]
    assert max(len(set(re.findall(r"\]\((\.\./src/[^)]+)\)", walk))) for walk in walks) <= 8
