"""A data folder that other users can read is made private before anything is written into it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from everyagent.testing.daemon import DaemonProcess


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that every user can read."""
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def open_to_others(folder: Path) -> list[str]:
    """The folder, and what is in it, as far as others could use it. Programs and the address are no secret."""
    paths = [folder, *(path for path in folder.iterdir() if path.name not in ("agents", "daemon.url"))]
    return [str(path) for path in paths if path.stat().st_mode & 0o077]


def test_serve_takes_a_data_folder_away_from_others(open_folder: Path) -> None:
    daemon = DaemonProcess(open_folder, "--default-agent", "mock")
    for mode in (0o755, 0o777):
        open_folder.chmod(mode)
        daemon.start()
        try:
            assert open_to_others(open_folder) == []
        finally:
            daemon.stop()


@pytest.mark.parametrize("exists", [True, False], ids=["open", "new"])
def test_an_installation_leaves_a_private_data_folder(open_folder: Path, exists: bool) -> None:
    if not exists:
        open_folder.rmdir()
    command = [sys.executable, "-m", "everyagent", "agents", "install", "mock", "--data-dir", str(open_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    assert open_to_others(open_folder) == []
