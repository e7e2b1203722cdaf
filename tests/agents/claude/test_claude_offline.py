"""The real program in a network namespace that has a loopback and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Brings the namespace's loopback up, then becomes what follows.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket() as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
os.execv(sys.argv[1], sys.argv[1:])
"""


def isolated(*argv: str) -> list[str]:
    return ["unshare", "--net", "--map-root-user", sys.executable, "-c", LOOPBACK, *argv]


def can_isolate() -> bool:
    """Some machines have no namespaces for us."""
    true = shutil.which("true")
    return bool(
        true and shutil.which("unshare") and subprocess.run(isolated(true), capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not can_isolate(), reason="this machine gives us no network namespace")
def test_turns_tools_and_asks_need_no_network(binary: str, tmp_path: Path) -> None:
    assert binary
    files = [str(HERE / name) for name in ("test_claude_turns.py", "test_claude_asks.py")]
    words = ["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "inner"), *files]
    chosen = ["-k", "native_deltas or parallel_tools or once_lets or approved_plan"]
    done = subprocess.run(
        isolated(sys.executable, *words, *chosen), cwd=HERE.parents[2], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
