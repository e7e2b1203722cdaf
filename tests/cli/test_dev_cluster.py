"""`everyagent dev-cluster` starts a real cluster, and leaves nothing behind."""

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.cli.main import run
from everyagent.client import Client


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """For temporary files. PostgreSQL may run as another user, who has to enter it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o711)
        monkeypatch.setenv("TMPDIR", made)
        yield Path(made)


def test_a_cluster_starts_works_and_leaves_nothing(folder: Path, tmp_path: Path):
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "everyagent", "dev-cluster"], stdout=out, stderr=out)

    def printed() -> str:
        return (tmp_path / "out").read_text()

    try:
        wait_until(lambda: "deletes its data" in printed() or process.poll() is not None, printed)
        found = re.findall(r"(http://127\.0\.0\.1:\d+)/ui/#token=(\w+)", printed())
        assert len(found) == 3, printed()
        children = psutil.Process(process.pid).children(recursive=True)
        (first, token), (second, _), _ = found
        with Client(first, token) as here, Client(second, token) as there:
            wait_until(lambda: len(there.cluster().nodes) == 3)
            here.create("shown", agent="mock", directory=str(tmp_path))
            there.run_turn("shown", "[text words=3]")
            bus = there.cluster().bus
            assert bus is not None
            assert (bus.kind, bus.connected) == ("nats", True)
        headers, (place,) = {"authorization": f"Bearer {token}"}, re.findall(r"s3://\S+", printed())
        parts = psutil.Process(process.pid).children()
        assert sum(["--blobs", place] == part.cmdline()[-2:] for part in parts) == 3
        made = httpx2.post(f"{first}/anthropic/v1/files", headers=headers, files={"file": ("a", b"content" * 50_000)})
        listed = httpx2.get(f"{second}/anthropic/v1/files/{made.json()['id']}", headers=headers)
        assert listed.json()["size_bytes"] == 350_000, made.text
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_SECONDS) == 0, printed()
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(child.is_running() for child in children))
    assert list(folder.iterdir()) == []


def test_missing_servers_are_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("everyagent.cli.dev_cluster.signal.signal", nothing)
    monkeypatch.setattr("everyagent.dev_cluster.postgres.found_program", nothing)
    assert run(["dev-cluster"]) == 2
    message = capsys.readouterr().err
    assert "initdb" in message
    assert "everyagent[dev-cluster]" in message


def nothing(*_: object) -> None:
    return
