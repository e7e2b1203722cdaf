"""Secrets at rest: sealed with AES-256-GCM under a key that lies beside the database, never inside it."""

import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from everyagent.errors import VaultError
from everyagent.model.parts import Json
from everyagent.model.tools import McpLocal, McpRemote, McpServer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = b"\x01"
_KEY_BYTES = 32
_NONCE_BYTES = 12


class Vault:
    """`about` says what a secret belongs to (a session's id): sealed for one, it does not open for another."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self._cipher: AESGCM | None = None

    @classmethod
    def open(cls, path: Path) -> "Vault":
        """The vault whose key is in the file `path`; the key is made on first use."""
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            key = _make_key(path)
        if len(key) != _KEY_BYTES:
            raise VaultError(
                f"The key file {path} holds {len(key)} bytes instead of {_KEY_BYTES}. Put the file back from a "
                "backup; or move it away to start with a new key, and give the sessions their secrets anew."
            )
        return cls(path, key)

    def seal(self, data: bytes, about: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aes().encrypt(nonce, data, _aad(about))

    def unseal(self, sealed: bytes, about: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        if sealed[:1] != _VERSION:
            raise VaultError(
                f"The secrets of {about} were sealed in a form this version does not know. "
                "Run the version of everyagent that wrote them, or a newer one."
            )
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._aes().decrypt(nonce, body, _aad(about))
        except (InvalidTag, ValueError) as error:
            raise VaultError(
                f"The secrets of {about} do not open with the key in {self._path}: the key is another one, or the "
                "data was changed. Put the key file back that was there when they were stored, or create the "
                "session anew with its secrets."
            ) from error

    def derived(self, purpose: bytes) -> bytes:
        """A key of its own for something else, that tells nothing of this one."""
        return hmac.digest(self._key, purpose, "sha256")

    def _aes(self) -> "AESGCM":
        # Imported at first use: most sessions have no secrets, and the import costs start-up time.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self._cipher is None:
            self._cipher = AESGCM(self._key)
        return self._cipher


def _aad(about: str) -> bytes:
    return _VERSION + about.encode()


def _make_key(path: Path) -> bytes:
    """A new key, on disk in full or not at all; whoever comes second takes the first one's."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, os.urandom(_KEY_BYTES))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_bytes()


def redacted(mcp: dict[str, McpServer]) -> dict[str, Json]:
    """The servers as anybody may see them: names, commands, addresses; of secrets only that they are there."""
    return {name: _redacted(server) for name, server in mcp.items()}


def _redacted(server: McpServer) -> Json:
    match server:
        case McpLocal():
            return {
                "type": "local",
                "command": [*server.command[:1], *("***" for _ in server.command[1:])],
                "env": sorted(server.env),
                "cwd": server.cwd,
                "enabled": server.enabled,
            }
        case McpRemote():
            return {
                "type": "remote",
                "url": _without_secrets(server.url),
                "headers": sorted(server.headers),
                "transport": server.transport,
                "enabled": server.enabled,
            }


def _without_secrets(url: str) -> str:
    """Without the user's part and the query: both may hold a token."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
