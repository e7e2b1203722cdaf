"""`everyagent keys` and `everyagent token` beside a running daemon: what another process does takes effect at once."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import msgspec
import pytest
from command_line import Cli, Daemon
from tests.waiting import LIMIT_SECONDS

from everyagent.testing.daemon import NO_TLS


@pytest.fixture
def http(daemon: Daemon) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=daemon.url, timeout=LIMIT_SECONDS, verify=NO_TLS) as client:
        yield client


def test_a_key_revoked_on_the_command_line_is_refused_at_once_and_its_stream_ends(
    cli: Cli, http: httpx2.Client, daemon: Daemon
) -> None:
    made = msgspec.json.decode(cli("keys", "create", "short-lived", "--scope", "read", "--json").out)
    key_id, headers = made["key"]["keyId"], {"x-api-key": made["secret"]}
    assert http.get("/v1/sessions", headers=headers).status_code == 200
    with http.stream("GET", "/v1/events/sse", headers=headers) as stream:
        assert stream.status_code == 200
        assert cli("keys", "revoke", key_id).code == 0
        for _ in stream.iter_bytes():  # ends, else the client's limit fails the test
            continue
    assert http.get("/v1/sessions", headers=headers).status_code == 401
    listed = cli("keys", "list").out
    assert any(key_id in line and "revoked" in line for line in listed.splitlines())
    assert _files_with(daemon.data_dir, made["secret"].encode()) == []


def test_a_rotated_token_is_in_no_file(no_daemon: Cli, tmp_path: Path) -> None:
    first = no_daemon("token").out.strip()
    second = no_daemon("token", "--rotate").out.strip()
    assert second not in ("", first)
    assert _files_with(tmp_path / "data", first.encode()) == []
    assert _files_with(tmp_path / "data", second.encode()) == ["token"]
    assert hashlib.sha256(first.encode()).hexdigest().encode() not in b"".join(_contents(tmp_path / "data"))


def _contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def _files_with(folder: Path, text: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]
