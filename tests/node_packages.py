"""Packages from npm that tests use, each version installed once and kept between runs."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from everyagent.agents.packages import npm

CACHE = Path.home() / ".cache" / "everyagent" / "sdks"
LIMIT_SECONDS = 300.0


def install_once(name: str, command: Callable[[Path], Sequence[str]]) -> Path:
    """A folder that a command fills, once and atomically, also if several processes ask for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / name
    with (CACHE / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            scratch = Path(tempfile.mkdtemp(dir=CACHE))
            try:
                subprocess.run(command(scratch / "sdk"), check=True, capture_output=True, timeout=LIMIT_SECONDS)
                (scratch / "sdk").rename(folder)
            finally:
                shutil.rmtree(scratch)
    return folder


def npm_packages(name: str, *packages: str) -> Path:
    """The folder that has these packages in its `node_modules`."""

    def install(folder: Path) -> Sequence[str]:
        return [*npm(), "install", "--prefix", str(folder), "--no-audit", "--no-fund", *packages]

    return install_once(name, install)


def run_module(folder: Path, script: Path, **environment: str) -> str:
    """The output of a script that imports packages of the folder. It fails with what the script printed."""
    linked = folder / script.name  # Node looks for packages beside the script
    linked.write_bytes(script.read_bytes())
    given = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environment}
    done = subprocess.run(
        ["node", str(linked)], env=given, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 0, f"{script.name}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
