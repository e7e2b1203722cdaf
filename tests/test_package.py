"""The wheel and the source distribution: built, and used without the checkout and its environment."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import httpx2
import pytest
from platformdirs import user_cache_path

from everyagent.testing.daemon import START_LIMIT_SECONDS, DaemonProcess

ROOT = Path(__file__).parents[1]
#: Other Pythons are tried where the machine has them.
NEWER = ("python3.12", "python3.13", "python3.14")
#: Variables of tools that would lead to the checkout's environment.
_HIDDEN = ("EVERYAGENT_", "PYTHON", "VIRTUAL_ENV", "COVERAGE")


def works(python: str) -> bool:
    found = shutil.which(python)
    return bool(found) and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0


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


@pytest.mark.parametrize("python", [sys.executable, *NEWER], ids=["this", *NEWER])
def test_the_wheel_brings_all_that_it_needs(built: Path, tmp_path: Path, python: str) -> None:
    """Installed by pip into a new environment, its command runs a turn, and the page is beside it."""
    if not works(python):
        pytest.skip(f"there is no {python}")
    (wheel,) = built.glob("*.whl")
    fresh, home = tmp_path / "fresh", tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    cache = environment.get("PIP_CACHE_DIR") or str(user_cache_path("pip"))
    environment |= {"PIP_CACHE_DIR": cache, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(home)}

    def run(*words: str | Path) -> str:
        limit = 4 * START_LIMIT_SECONDS
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(python, "-m", "venv", fresh)
    run(fresh / "bin" / "pip", "install", "--quiet", wheel)
    run(fresh / "bin" / "pip", "check")
    assert "Hello!" in run(fresh / "bin" / "everyagent", "run", "mock", "[hello]")
    folder = Path(run(fresh / "bin" / "python", "-c", "import everyagent; print(everyagent.__path__[0])").strip())
    assert folder.is_relative_to(fresh)
    assert (folder / "inspector" / "index.html").exists()


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
