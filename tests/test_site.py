"""The documentation as a site: it is built without a warning, and has the headings that people look for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEADINGS = [
    *("Install", "Quickstart", "Authentication", "Agents", "Sessions", "Permissions", "Streaming", "Managed Agents"),
    *("Deploy", "Security", "Backup", "Troubleshooting", "Reference"),
]


def build(folder: Path, target: Path) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(words, cwd=folder, env=quiet, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_the_site_is_built_without_a_warning_and_has_its_headings(copy: Path, tmp_path: Path) -> None:
    done = build(copy, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first = (tmp_path / "index.html").read_text()
    places = [first.find(f"\n    {heading}\n") for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    pages = {file.relative_to(ROOT / "docs").with_suffix(".html") for file in (ROOT / "docs").rglob("*.md")}
    assert [page for page in pages if not (tmp_path / page).exists() and page.name != "README.html"] == []


def test_an_anchor_that_leads_nowhere_fails_the_build(copy: Path, tmp_path: Path) -> None:
    page = copy / "docs" / "backup.md"
    before = page.read_text()
    page.write_text(before + "\n[Nowhere](deploy.md#nowhere)\n")
    done = build(copy, tmp_path)
    page.write_text(before)
    assert done.returncode != 0
    assert "nowhere" in done.stderr
