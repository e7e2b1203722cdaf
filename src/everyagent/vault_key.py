"""The key of the vault: from a file, the environment or a command that the operator names, else from the data folder.

The nodes of a cluster need the same one.
"""

import subprocess
from pathlib import Path

from everyagent.config import ConfigError, Settings
from everyagent.errors import VaultError
from everyagent.logs import get_logger
from everyagent.sessions.launch.secrets import KEY_BYTES, SecretVault, decoded_key

_COMMAND_SECONDS = 60
logger = get_logger(__name__)


def vault_file(settings: Settings) -> Path:
    """The file with the key, unless the key is given otherwise."""
    return settings.vault_key_file or settings.data_dir / "vault.key"


def open_vault(settings: Settings) -> SecretVault:
    """Raises `ConfigError`. Only the file in the data folder is made if it is missing."""
    path, origin = vault_file(settings), given_by(settings)
    if origin is None:
        if not path.exists() and settings.store is None and (settings.data_dir / "everyagent.db").exists():
            logger.warning(
                "a new key for stored secrets is made, although there is a log: what an older key encrypted cannot be "
                "read. If you have that key, stop the daemon now, and put it there before you give new secrets",
                file=str(path),
            )
        return SecretVault.open(path)
    if origin == "vault-key-file":
        if not path.is_file():
            raise ConfigError(f"The file {path} with the key of the vault ({origin}) does not exist.")
        try:
            return SecretVault.open(path)
        except (OSError, VaultError) as error:
            raise ConfigError(f"The key of the vault ({origin}) cannot be used: {error}") from error
    given = settings.vault_key.encode() if settings.vault_key else _printed(settings.vault_key_command or "", origin)
    key = decoded_key(given)
    if key is None:
        raise ConfigError(
            f"The key of the vault ({origin}) is not one of {KEY_BYTES} bytes, in hex or base64. "
            f"Make one: openssl rand -base64 {KEY_BYTES}."
        )
    return SecretVault(path, key, origin=origin)


def given_by(settings: Settings) -> str | None:
    """The setting that gives the key; None for the data folder. Raises `ConfigError` if there are two."""
    names = ("vault_key", "vault_key_file", "vault_key_command")
    given = [name.replace("_", "-") for name in names if getattr(settings, name) is not None]
    if len(given) > 1:
        raise ConfigError(f"The key of the vault is given twice, by {given[0]} and {given[1]}. Remove one of them.")
    return given[0] if given else None


def _printed(command: str, origin: str) -> bytes:
    import shlex

    try:
        words = shlex.split(command)
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMMAND_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"The command for the key of the vault ({origin}) failed: {error}.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:] or "no message"
        raise ConfigError(f"The command for the key of the vault ({origin}) ended with {done.returncode}: {said}.")
    return done.stdout
