"""The context of the Docker image: it has every source of the inspector, and nothing that was fetched."""

import importlib.util
import re
import shutil
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
_IMPORT = re.compile(r"""(?:from|import)\s+["'](\.[^"']+)["']""")


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern of .dockerignore names the path or a folder around it."""
    parts = path.split("/")
    *before, name = pattern.split("/")
    if before == ["**"]:
        return any(fnmatchcase(part, name) for part in parts)
    depth = len(before) + 1
    return len(parts) >= depth and all(map(fnmatchcase, parts[:depth], (*before, name)))


def is_sent(path: str, patterns: list[str]) -> bool:
    """The last pattern that matches decides, as Docker does it."""
    sent = True
    for pattern in patterns:
        if matches(path, pattern.removeprefix("!")):
            sent = pattern.startswith("!")
    return sent


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the image is built, with all that the first stage copies."""
    folder = tmp_path_factory.mktemp("src")
    first_stage = re.split(r"^FROM .*$", DOCKERFILE.read_text(), flags=re.MULTILINE)[1]
    patterns = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().split()
    for words in re.findall(r"^COPY (.+)$", first_stage, re.MULTILINE):
        *sources, target = words.split()
        for source in sources:
            into = folder / target / source if target == "./" else folder / target
            if (ROOT / source).is_file():
                assert is_sent(source, patterns), source
                shutil.copy(ROOT / source, into)
                continue
            for found in (path for path in (ROOT / source).rglob("*") if path.is_file()):
                if is_sent(found.relative_to(ROOT).as_posix(), patterns):
                    copy = into / found.relative_to(ROOT / source)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(found, copy)
    return folder


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are examined as they are, also after a script among them was loaded."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def page_builder(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("inspector_build", folder / "inspector" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_image_has_every_source_of_the_inspector(image: Path) -> None:
    there, here = page_builder(image), page_builder(ROOT)
    for pattern in there._SOURCES:
        assert any(path.is_file() for path in there.HERE.glob(pattern)), pattern
    assert there.sources_digest() == here.sources_digest()


def test_every_module_that_the_inspector_imports_is_in_the_image_and_in_the_digest(image: Path) -> None:
    there = page_builder(image)
    known = {path.resolve() for pattern in there._SOURCES for path in there.HERE.glob(pattern)}
    for source in sorted(path for path in known if path.suffix in (".ts", ".tsx")):
        for name in _IMPORT.findall(source.read_text()):
            wanted = (source.parent / name.partition("?")[0]).resolve()
            forms = {wanted, *(wanted.with_name(wanted.name + end) for end in (".ts", ".tsx"))}
            generated = wanted.name == "schema"  # types alone: Vite does not need them
            assert generated or forms & known, f"{source.name} imports {name}"


def test_nothing_that_was_fetched_or_compiled_is_in_the_image(image: Path) -> None:
    assert [path for path in image.rglob("*") if path.name in ("node_modules", "__pycache__", ".venv")] == []
