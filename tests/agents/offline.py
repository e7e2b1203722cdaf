"""Runs tests again in a network namespace that has only a loopback interface."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

#: Brings the namespace's loopback up, then executes the command that follows.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket() as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
os.execv(sys.argv[1], sys.argv[1:])
"""
LIMIT_SECONDS = 300.0


def isolated(*argv: str) -> list[str]:
    return ["unshare", "--net", "--map-root-user", sys.executable, "-c", LOOPBACK, *argv]


def can_isolate() -> bool:
    """Whether this machine allows network namespaces."""
    true = shutil.which("true")
    return bool(
        true and shutil.which("unshare") and subprocess.run(isolated(true), capture_output=True).returncode == 0
    )


needs_isolation = pytest.mark.skipif(not can_isolate(), reason="this machine gives us no network namespace")


def pass_without_network(tests: Sequence[str], folder: Path) -> None:
    """Check that each of `tests` (`<file>::<name>`) passes with only loopback. They write under `folder`."""
    options = ["-n", "0", "-p", "no:cacheprovider", "--basetemp", str(folder / "inner")]
    argv = isolated(sys.executable, "-m", "pytest", *options, *tests)
    root = Path(__file__).parents[2]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(tests)} passed" in done.stdout
