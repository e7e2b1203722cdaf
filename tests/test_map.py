"""Keeps `docs/map.md` true. Its tree is made of the first sentence of each module's docstring.

After adding or moving a file: `python tests/test_map.py --write`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "everyagent"
MAP = ROOT / "docs" / "map.md"
_TREE = re.compile(r"(<!-- tree -->\n).*(<!-- end of tree -->)", re.DOTALL)


def sentence(module: Path) -> str:
    """What the module says it is, in one sentence."""
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", first)[0]


def tree(folder: Path, depth: int = 0) -> Iterator[str]:
    """Files first, then folders; a folder is named by its `__init__.py`."""
    yield line(folder / "__init__.py", f"{folder.name}/", depth)
    for module in sorted(folder.glob("*.py")):
        if module.name != "__init__.py":
            yield line(module, module.name, depth + 1)
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and any(inner.rglob("*.py")):
            yield from tree(inner, depth + 1)


def line(module: Path, name: str, depth: int) -> str:
    return f"{'  ' * depth}* [`{name}`](../{module.relative_to(ROOT).as_posix()}) {sentence(module)}\n"


def redrawn(page: str) -> str:
    return _TREE.sub(lambda found: found[1] + "".join(tree(PACKAGE)) + found[2], page)


def test_every_folder_of_the_package_is_a_package():
    folders = {module.parent for module in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_module_says_what_it_is_for():
    assert [str(module) for module in PACKAGE.rglob("*.py") if not sentence(module)] == []


def test_the_map_lists_every_module_with_what_it_says_of_itself():
    assert MAP.read_text() == redrawn(MAP.read_text()), "run: python tests/test_map.py --write"


if __name__ == "__main__" and "--write" in sys.argv:
    MAP.write_text(redrawn(MAP.read_text()))
