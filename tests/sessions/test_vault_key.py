"""The settings that give the key of the vault."""

import base64
import os
import stat
from pathlib import Path

import pytest

from everyagent.config import ConfigError, load
from everyagent.vault_key import open_vault

KEY = bytes(range(32))


def opened(tmp_path: Path, **given: str):
    return open_vault(load({"data_dir": str(tmp_path / "data"), **given}, {"EVERYAGENT_CONFIG": "/nowhere"}))


def test_the_same_key_comes_from_a_file_a_command_or_the_environment(tmp_path: Path):
    forms = {"raw": KEY, "hex": KEY.hex().encode() + b"\n", "base64": base64.b64encode(KEY) + b"\n"}
    vaults = [opened(tmp_path, vault_key=KEY.hex())]
    for name, form in forms.items():
        path = tmp_path / name
        path.write_bytes(form)
        vaults.append(opened(tmp_path, vault_key_file=str(path)))
        vaults.append(opened(tmp_path, vault_key_command=f"cat {path}"))
    for vault in vaults:
        assert vaults[0].unseal(vault.seal(b"secret", "s"), "s") == b"secret"
    assert not (tmp_path / "data").exists()
    assert len({vault.derived(b"purpose") for vault in vaults}) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vault_key": "short"}, "vault-key"),
        ({"vault_key_file": "/does/not/exist"}, "vault-key-file"),
        ({"vault_key_file": "/proc/version"}, "vault-key-file"),
        ({"vault_key_command": "/does/not/exist"}, "vault-key-command"),
        ({"vault_key_command": "ls '"}, "vault-key-command"),
        ({"vault_key_command": "ls /does/not/exist"}, "ended with"),
        ({"vault_key_command": "true"}, "openssl rand"),
        ({"vault_key": KEY.hex(), "vault_key_command": "true"}, "given twice"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_with_its_setting(tmp_path: Path, given: dict[str, str], said: str):
    with pytest.raises(ConfigError, match=said):
        opened(tmp_path, **given)


def test_a_key_in_a_file_of_its_own_is_never_made(tmp_path: Path):
    with pytest.raises(ConfigError, match="does not exist"):
        opened(tmp_path, vault_key_file=str(tmp_path / "missing"))
    assert os.listdir(tmp_path) == []
    opened(tmp_path)
    assert stat.S_IMODE((tmp_path / "data" / "vault.key").stat().st_mode) == 0o600


def test_a_new_key_beside_an_older_log_is_warned_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "data").mkdir()
    opened(tmp_path)
    assert "a new key" not in capfd.readouterr().err
    (tmp_path / "data" / "vault.key").unlink()
    (tmp_path / "data" / "everyagent.db").touch()
    opened(tmp_path)
    assert "a new key" in capfd.readouterr().err
    opened(tmp_path)
    assert "a new key" not in capfd.readouterr().err
