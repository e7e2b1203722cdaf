"""Encryption of secrets: keys, rotation, binding to their owner, and errors."""

import multiprocessing
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everyagent.errors import VaultError
from everyagent.model.tools import McpLocal, McpRemote
from everyagent.sessions.launch.secrets import SecretVault, redacted
from tests.waiting import LIMIT_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "vault.key"


@given(data=st.binary(max_size=2000), about=st.text(max_size=130))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sealed_data_can_be_opened(path: Path, data: bytes, about: str):
    vault = SecretVault.open(path)
    assert vault.unseal(vault.seal(data, about), about) == data


def test_the_key_is_made_once_and_only_its_owner_can_read_it(path: Path):
    first, second = SecretVault.open(path), SecretVault.open(path)
    assert second.unseal(first.seal(b"x", "s"), "s") == b"x"
    assert len(path.read_bytes()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["vault.key"]


def test_daemons_that_start_together_agree_on_one_key(path: Path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        sealed = pool.map(_seal, [path] * 6)
    assert [SecretVault.open(path).unseal(each, "s") for each in sealed] == [b"x"] * 6


def test_with_a_new_key_old_secrets_open_until_the_old_key_is_forgotten(path: Path):
    sealed = SecretVault.open(path).seal(b"x", "s")
    old = path.read_bytes()
    rotated = SecretVault.rotate(path)
    assert path.read_bytes() != old
    assert rotated.unseal(sealed, "s") == b"x"
    again = rotated.seal(b"x", "s")
    assert SecretVault.open(path).unseal(again, "s") == b"x"
    rotated.forget_older()
    for vault in (rotated, SecretVault.open(path)):
        assert vault.unseal(again, "s") == b"x"
        with pytest.raises(VaultError):
            vault.unseal(sealed, "s")
    assert [entry.name for entry in path.parent.iterdir()] == ["vault.key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_change_of_key_that_was_cut_off_goes_on(path: Path):
    sealed = SecretVault.open(path).seal(b"x", "s")
    first = path.read_bytes()
    path.with_name("vault.key.old").hardlink_to(path)
    assert SecretVault.open(path).unseal(sealed, "s") == b"x"
    second = SecretVault.rotate(path)
    assert path.read_bytes() != first
    new = path.read_bytes()
    assert SecretVault.rotate(path).unseal(sealed, "s") == b"x"
    assert path.read_bytes() == new, "the change that was begun is ended first"
    second.forget_older()


def _seal(path: Path) -> bytes:
    return SecretVault.open(path).seal(b"x", "s")


def test_a_derived_key_is_stable_and_differs_by_purpose(path: Path):
    vault = SecretVault.open(path)
    assert vault.derived(b"tools") == SecretVault.open(path).derived(b"tools")
    assert len({vault.derived(b"tools"), vault.derived(b"else"), path.read_bytes()}) == 3


def test_sealed_data_does_not_contain_the_secret_and_differs_each_time(path: Path):
    vault = SecretVault.open(path)
    first, second = vault.seal(b"API_KEY=hunter2", "s"), vault.seal(b"API_KEY=hunter2", "s")
    assert first != second
    assert b"hunter2" not in first


def test_a_secret_of_one_session_does_not_open_for_another(path: Path):
    vault = SecretVault.open(path)
    with pytest.raises(VaultError, match="secrets of sess_2 do not open"):
        vault.unseal(vault.seal(b"x", "sess_1"), "sess_2")


@given(at=st.integers(0, 39), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_secret_changed_by_one_bit_does_not_open(path: Path, at: int, bit: int):
    vault = SecretVault.open(path)
    sealed = bytearray(vault.seal(b"eleven char", "s"))
    assert len(sealed) == 40
    sealed[at] ^= 1 << bit
    with pytest.raises(VaultError):
        vault.unseal(bytes(sealed), "s")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01short", b"\x02" + bytes(40)])
def test_data_that_was_never_sealed_is_a_clear_error(path: Path, sealed: bytes):
    with pytest.raises(VaultError):
        SecretVault.open(path).unseal(sealed, "s")


def test_another_key_is_an_error_that_says_what_to_do(path: Path, tmp_path: Path):
    sealed = SecretVault.open(path).seal(b"x", "s")
    with pytest.raises(VaultError, match="Put the key back"):
        SecretVault.open(tmp_path / "other.key").unseal(sealed, "s")


def test_a_damaged_key_file_is_an_error_that_says_what_to_do(path: Path):
    path.parent.mkdir()
    path.write_bytes(b"half a key")
    with pytest.raises(VaultError, match=r"holds 10 bytes instead of 32.*backup"):
        SecretVault.open(path)


def test_importing_the_vault_does_not_import_cryptography():
    program = "import sys, everyagent.sessions.launch.secrets; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=LIMIT_SECONDS, check=False).returncode == 0


def test_mcp_servers_are_shown_without_their_secrets():
    shown = redacted(
        {
            "files": McpLocal(command=["mcp-files", "--root", "."], env={"TOKEN": "hunter2"}, cwd="/srv"),
            "web": McpRemote(
                url="https://me:hunter2@mcp.example:8443/v1?key=hunter2#hunter2", headers={"Authorization": "hunter2"}
            ),
        }
    )
    assert b"hunter2" not in msgspec.json.encode(shown)
    assert shown == {
        "files": {
            "type": "local",
            "command": ["mcp-files", "***", "***"],
            "env": {"TOKEN": "***"},
            "cwd": "/srv",
            "enabled": True,
        },
        "web": {
            "type": "remote",
            "url": "https://mcp.example:8443/v1",
            "headers": {"Authorization": "***"},
            "transport": "http",
            "enabled": True,
        },
    }
