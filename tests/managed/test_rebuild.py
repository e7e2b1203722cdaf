"""`everyagent managed rebuild` finds and repairs damaged projections."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Raw

FIRST = "WHERE key = (SELECT min(key) FROM frames)"


def rebuild(data: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "everyagent", "managed", "rebuild", *flags, "--data-dir", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_damaged_projection_is_found_and_rebuilt(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DELETE FROM frames", "none of its frames are there"),
        (f"DELETE FROM frames {FIRST}", "does not say what"),
        (f"""UPDATE frames SET blob = NULL, body = CAST('{{"view": 1}}' AS BLOB) {FIRST}""", "cannot be read"),
    ],
    ids=["no frames", "first frame gone", "first frame unreadable"],
)
def test_a_session_that_cannot_be_rebuilt_is_named_and_not_changed(tmp_path: Path, damage: str, why: str) -> None:
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    daemon.start()
    raw = Raw(daemon)
    session_id = raw.create(TOOLSET)
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    events = raw.events()
    assert daemon.stop() == 0
    connection = apsw.Connection(str(daemon.data_dir / "everyagent.db"))
    connection.execute(damage).fetchall()
    connection.close()
    for flags in (["--check"], []):
        done = rebuild(daemon.data_dir, *flags)
        assert done.returncode == 1
        assert f"{session_id} cannot be rebuilt" in done.stderr
        assert why in done.stderr
        assert "Traceback" not in done.stderr
    daemon.start()
    assert raw.events() == events
    raw.close()
    daemon.stop()
