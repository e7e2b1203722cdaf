"""`everyagent managed rebuild`: finds what is not as it should be, and makes it so."""

import subprocess
import sys
from pathlib import Path

import apsw

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Raw


def rebuild(data: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "everyagent", "managed", "rebuild", *flags, "--data-dir", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_view_that_was_tampered_with_is_found_and_made_anew(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    daemon.start()
    raw = Raw(daemon)
    session_id = raw.create(TOOLSET)
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    events = raw.events()
    assert daemon.stop() == 0
    assert rebuild(daemon.data_dir, "--check").returncode == 0
    connection = apsw.Connection(str(daemon.data_dir / "everyagent.db"))
    connection.execute("UPDATE views SET status = 'running', head = 2").fetchall()
    connection.close()
    wrong = rebuild(daemon.data_dir, "--check")
    assert wrong.returncode == 1
    assert session_id in wrong.stdout + wrong.stderr
    assert rebuild(daemon.data_dir).returncode == 0
    assert rebuild(daemon.data_dir, "--check").returncode == 0
    daemon.start()
    assert raw.events() == events
    assert raw.status() == "idle"
    raw.close()
    daemon.stop()
