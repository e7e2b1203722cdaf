"""`everyagent log verify` on logs of a real daemon: whole ones, and one of each damage."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import apsw
import pytest
from tests.postgres.server import PostgresServer
from tests.waiting import LIMIT_SECONDS

from everyagent.client import Client
from everyagent.testing.daemon import TOKEN, DaemonProcess

DAMAGES = {
    "UPDATE sessions SET last_sequence = last_sequence + 2 WHERE session_id = 'one'": "are missing",
    "DELETE FROM events WHERE key = {low} + 2": "one: event 2 is missing",
    "UPDATE events SET body = (SELECT body FROM events WHERE key = {low} + 1) WHERE key = {low} + 3": "has the id",
    "UPDATE events SET body = substr(body, 1, 20) WHERE key = {low} + 4": "one: event 4 cannot be read",
}


@pytest.fixture(params=["sqlite", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[list[str], DaemonProcess]]:
    """The words that name a log with two sessions, and the daemon that runs on it."""
    words = ["--data-dir", str(tmp_path / "data")]
    flags = ["--default-agent", "mock", "--isolation", "none"]
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        store = ["--store", server.new_schema()]
        words, flags = [*words, *store], [*flags, *store]
    daemon = DaemonProcess(tmp_path / "data", *flags)
    daemon.start()
    with Client(daemon.url, TOKEN) as client:
        for name in ("one", "two"):
            client.create(name, agent="mock", directory=str(tmp_path))
            client.run_turn(name, "[text words=20] " + "x" * 300_000)
    yield words, daemon
    if daemon.alive:
        daemon.kill()


def verified(words: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "everyagent", "log", "verify", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_whole_log_is_found_whole_and_each_damage_is_named(
    log: tuple[list[str], DaemonProcess], tmp_path: Path, postgres: PostgresServer
):
    words, daemon = log
    code, said = verified(words)
    assert (code, "2 sessions" in said, "All are whole" in said) == (0, True, True), said
    daemon.stop()

    def execute(statement: str) -> None:
        if "--store" in words:
            postgres.execute(statement, words[-1])
        else:
            connection = apsw.Connection(str(tmp_path / "data" / "everyagent.db"))
            connection.execute(statement)
            connection.close()

    blob = "blob_pieces SET body = body || 'x'" if "--store" in words else ""
    if blob:
        execute(f"UPDATE {blob} WHERE number = 0")
    else:
        for path in (tmp_path / "data" / "blobs").iterdir():
            path.write_bytes(path.read_bytes() + b"x")
    for statement in DAMAGES:
        execute(statement.format(low=1 << 32))
    code, said = verified(words)
    assert code == 1, said
    assert "is damaged" in said
    for expected in DAMAGES.values():
        assert expected in said, (expected, said)


def test_a_log_that_is_not_there_is_a_message(tmp_path: Path):
    code, said = verified(["--data-dir", str(tmp_path)])
    assert (code, "There is no log in" in said) == (2, True), said
