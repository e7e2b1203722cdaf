"""Rotation of the vault's key while the daemon is stopped: sealed secrets stay readable."""

import base64
import subprocess
import sys
from pathlib import Path

import httpx2

from everyagent.testing.daemon import DaemonProcess


def rotate(data_dir: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "everyagent", "vault", "rotate", "--data-dir", str(data_dir)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def test_secrets_survive_a_change_of_the_key(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    daemon.start()
    try:
        with httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=30) as client:
            session = {"agent": "mock", "env": {"HUSH": "hush-1"}, "directory": str(tmp_path)}
            assert client.post("/v1/sessions/s", json=session).status_code == 200
            vault = client.post("/anthropic/v1/vaults", json={"display_name": "v"}).json()["id"]
            auth = {"type": "static_bearer", "mcp_server_url": "https://example.com/mcp", "token": "hush-2"}
            assert client.post(f"/anthropic/v1/vaults/{vault}/credentials", json={"auth": auth}).status_code == 200
        old = (tmp_path / "data/vault.key").read_bytes()
        busy = rotate(tmp_path / "data")
        assert busy.returncode != 0
        assert "hush" not in busy.stderr
        assert (tmp_path / "data/vault.key").read_bytes() == old
        daemon.stop()
        done = rotate(tmp_path / "data")
        assert done.returncode == 0, done.stderr
        assert "2 secrets were encrypted again" in done.stdout + done.stderr
        assert (tmp_path / "data/vault.key").read_bytes() != old
        forms = [old, old.hex().encode(), base64.b64encode(old)]
        kept = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert not [form for form in forms if any(form in each for each in kept)], "the old key is left behind"
        daemon.start()
        with httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=60) as client:
            sent = {"message": '[tool name=bash command="echo $HUSH > told"]'}
            with client.stream("POST", "/v1/sessions/s/messages/stream", json=sent) as stream:
                assert "turn.ended" in stream.read().decode()
        assert (tmp_path / "told").read_text() == "hush-1\n"
    finally:
        daemon.stop()
