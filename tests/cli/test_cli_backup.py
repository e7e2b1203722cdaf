"""`everyagent backup` beside a daemon that writes, and `everyagent restore` into another folder."""

import stat
import subprocess
import tarfile
import threading
from pathlib import Path

import msgspec
import pytest
from command_line import COMMAND, Cli, Daemon, environment

from everyagent.cli.exit_codes import ExitCode
from everyagent.client import Client
from everyagent.log.blobs import INLINE_BYTES


def _encoded(client: Client, session: str) -> list[tuple[int, str, str]]:
    return [(event.sequence, event.event_id, event.type) for event in client.events(session, follow=False)]


@pytest.mark.parametrize("name", ["backup.tar", "backup.tar.gz"])
def test_a_backup_beside_a_busy_daemon_is_whole_and_runs(
    cli: Cli, client: Client, daemon: Daemon, tmp_path: Path, name: str
) -> None:
    kept = client.create(agent="mock", directory=str(tmp_path), secrets={"PASSWORD": "hidden-value"}).session_id
    client.run_turn(kept, f"[tool command='head -c {2 * INLINE_BYTES} /dev/zero | tr 0 x'] [hello]")
    busy = client.create(agent="mock", directory=str(tmp_path)).session_id
    client.send(busy, "[slow seconds=600]")
    next(event for event in client.events(busy) if event.type == "item.delta" and event.source == "agent")
    stop = threading.Event()

    def make_and_delete() -> None:
        with Client(daemon.url, daemon.token) as other:
            while not stop.is_set():
                session = other.create(agent="mock", directory=str(tmp_path)).session_id
                other.run_turn(session, f"[tool command='head -c {2 * INLINE_BYTES} /dev/urandom | base64']")
                other.delete(session)

    maker = threading.Thread(target=make_and_delete)
    maker.start()
    try:
        written = cli("backup", str(tmp_path / name), "--with-key")
    finally:
        stop.set()
        maker.join()
    assert written.code == 0, written.err
    assert "all whole" in written.err
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    before = _encoded(client, kept)
    client.terminate(busy)

    place = tmp_path / "restored"
    restored = cli("restore", str(tmp_path / name), "--data-dir", str(place))
    assert restored.code == 0, restored.err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".everyagent")] == []
    again = cli("restore", str(tmp_path / name), "--data-dir", str(place))
    assert (again.code, "exists already" in again.err) == (ExitCode.FAILED, True)
    words = ["serve", "--port", "0", "--json", "--data-dir", str(place)]
    with subprocess.Popen(COMMAND + words, env=environment(place), stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            said = msgspec.json.decode(process.stdout.readline())
            with Client(said["url"], said["token"]) as other:
                assert _encoded(other, kept)[: len(before)] == before
                assert other.run_turn(kept, "[tool command='echo ${#PASSWORD}']").stop_reason == "end_turn"
        finally:
            process.terminate()


def test_a_running_daemon_a_damaged_file_and_a_missing_one_are_refused(
    cli: Cli, daemon: Daemon, tmp_path: Path
) -> None:
    whole, damaged = tmp_path / "whole.tar", tmp_path / "damaged.tar"
    written = cli("backup", str(whole))
    assert "The key of stored secrets is not in it" in written.err
    used = cli("restore", str(whole), "--data-dir", str(daemon.data_dir))
    assert "in use by another everyagent" in used.err
    content = bytearray(whole.read_bytes())
    at = content.rindex(b"item.completed")
    content[at : at + 4] = b"ITEM"
    damaged.write_bytes(content)
    refused = cli("restore", str(damaged), "--data-dir", str(tmp_path / "new"))
    assert refused.code == ExitCode.FAILED
    assert not (tmp_path / "new" / "everyagent.db").exists()
    damaged.write_bytes(b"no archive")
    again = cli("backup", str(damaged))
    assert (again.code, damaged.read_bytes()) == (ExitCode.FAILED, b"no archive")
    assert again.err == f"error: {damaged} exists already, and was not changed. Pass --force to replace it.\n"
    for wrong in (damaged, tmp_path):
        refused = cli("restore", str(wrong), "--data-dir", str(tmp_path / "new"))
        assert refused.err == f"error: {wrong} is no backup, or it is damaged. Nothing was changed.\n"
    assert cli("backup", str(damaged), "--force").code == 0
    assert tarfile.is_tarfile(damaged)
    assert "There is no file" in cli("restore", str(tmp_path / "none"), "--data-dir", str(tmp_path / "new")).err
    old = tmp_path / "new" / "checkpoints" / "1"
    old.mkdir(parents=True)
    refused = cli("restore", str(whole), "--data-dir", str(tmp_path / "new"))
    assert (refused.code, "files of another log's sessions" in refused.err) == (ExitCode.FAILED, True)
    assert not (tmp_path / "new" / "everyagent.db").exists()
    old.rmdir()
    restored = cli("restore", str(whole), "--data-dir", str(tmp_path / "new"))
    assert (restored.code, "before you start the daemon" in restored.err) == (0, True)


def test_disk_shows_what_takes_up_space(cli: Cli, daemon: Daemon) -> None:
    shown = cli("disk").out.splitlines()
    assert shown[0].split() == ["PART", "SIZE", "CONTENT"]
    assert shown[1].startswith("everyagent.db")
    assert shown[-1].endswith(str(daemon.data_dir))
