"""The wheel and the source distribution: built, unpacked, and used without the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import httpx2
import pytest

from everyagent.testing.daemon import START_LIMIT_SECONDS, DaemonProcess

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=START_LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_runs_the_daemon_with_its_page(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (wheel,) = built.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(installed)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"everyagent"}
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.chdir(tmp_path)
    where = [sys.executable, "-c", "import everyagent; print(everyagent.__file__)"]
    assert subprocess.run(where, capture_output=True, text=True, check=True).stdout.startswith(str(installed))
    daemon = DaemonProcess(tmp_path / "data")
    daemon.start()
    try:
        assert "<title>" in httpx2.get(f"{daemon.url}/ui/").text
        words = [sys.executable, "-m", "everyagent", "run", "mock", "[hello]", "--data-dir", str(daemon.data_dir)]
        given = {**os.environ, "EVERYAGENT_URL": daemon.url, "EVERYAGENT_TOKEN": daemon.headers["authorization"][7:]}
        done = subprocess.run(
            words, env=given, capture_output=True, text=True, timeout=START_LIMIT_SECONDS, check=False
        )
        assert "Hello!" in done.stdout, done.stderr
    finally:
        daemon.stop()


def test_the_source_distribution_has_what_a_build_needs_and_nothing_that_was_fetched(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "Makefile",
        "hatch_build.py",
        "inspector/build.py",
        "src/everyagent/inspector/index.html",
    } <= names
    assert [name for name in names if "node_modules" in name or name.startswith(".venv")] == []
