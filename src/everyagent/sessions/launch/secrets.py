"""Encryption of secrets at rest: AES-256-GCM with a key in a file next to the database, never inside it."""

import hmac
import os
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from everyagent.errors import VaultError
from everyagent.log.blobs import sync_folder
from everyagent.model.parts import Json
from everyagent.model.tools import McpLocal, McpRemote, McpServer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = b"\x01"
KEY_BYTES = 32
_NONCE_BYTES = 12


class SecretVault:
    """`about` names the owner of a secret (a session's id): a secret sealed for one cannot be opened for another.

    During a key rotation there is an `older` key, which still opens the secrets that it sealed.
    """

    def __init__(self, path: Path, key: bytes, older: bytes | None = None, *, origin: str | None = None) -> None:
        """`origin` is the setting that gives the key, if it is not the file `path`."""
        self._path = path
        self._origin = origin or str(path)
        self._key = key
        self._older = older
        self._ciphers: list[AESGCM] = []

    @classmethod
    def open(cls, path: Path) -> "SecretVault":
        """Opens the vault with the key in the file `path`, which is created on first use."""
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            key = _make_key(path)
        older = _older(path)
        given = (key, older.read_bytes()) if older.exists() else (key,)
        keys = [decoded_key(found) for found in given]
        if None in keys:
            raise VaultError(
                f"The key file {path} holds {len(given[keys.index(None)])} bytes instead of {KEY_BYTES}. Put the file "
                "back from a backup; or move it away to begin with a new key, and set the sessions' secrets again."
            )
        return cls(path, *(found for found in keys if found is not None))

    @classmethod
    def rotate(cls, path: Path) -> "SecretVault":
        """Makes a new key and keeps the older one, until all secrets are sealed again and `forget_older` is called.

        Can be repeated after a crash at any point.
        """
        cls.open(path)
        older = _older(path)
        if not older.exists():
            os.link(path, older)
        if older.read_bytes() == path.read_bytes():
            draft = _draft(path)
            draft.replace(path)
            sync_folder(path.parent)
        return cls.open(path)

    def forget_older(self) -> None:
        _older(self._path).unlink(missing_ok=True)
        sync_folder(self._path.parent)
        self._older, self._ciphers = None, []

    def seal(self, data: bytes, about: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aes()[0].encrypt(nonce, data, _aad(about))

    def unseal(self, sealed: bytes, about: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        if sealed[:1] != _VERSION:
            raise VaultError(
                f"The secrets of {about} were sealed in a form this version does not know. "
                "Run the version of everyagent that wrote them, or a newer one."
            )
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for cipher in self._aes():
            try:
                return cipher.decrypt(nonce, body, _aad(about))
            except (InvalidTag, ValueError):
                continue
        raise VaultError(
            f"The secrets of {about} do not open with the key of {self._origin}: the key is another one, or the "
            "data was changed. Put the key back that was there when they were stored, or create the session "
            "again with its secrets."
        )

    def own_secrets(self) -> dict[bytes, str]:
        """The keys, to be masked wherever they occur."""
        return {key: "vault_key" for key in (self._key, self._older) if key is not None}

    def derived(self, purpose: bytes) -> bytes:
        """A key derived for another purpose, which does not reveal this one."""
        return hmac.digest(self._key, purpose, "sha256")

    def _aes(self) -> "list[AESGCM]":
        """The ciphers of the current key and of the older one, if any."""
        # Imported at first use: most sessions have no secrets, and the import costs start-up time.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not self._ciphers:
            self._ciphers = [AESGCM(key) for key in (self._key, self._older) if key is not None]
        return self._ciphers


def decoded_key(given: bytes) -> bytes | None:
    """A key from its bytes, or from their hex or base64 form with white space around it; None if it is none."""
    if len(given) == KEY_BYTES:
        return given
    text = given.strip()
    try:
        key = bytes.fromhex(text.decode()) if len(text) == 2 * KEY_BYTES else b64decode(text, validate=True)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def is_sealed(body: bytes) -> bool:
    """Whether a body that is otherwise JSON is sealed."""
    return body.startswith(_VERSION)


def _aad(about: str) -> bytes:
    return _VERSION + about.encode()


def _make_key(path: Path) -> bytes:
    """Writes a new key atomically. If another process was first, returns that key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = _draft(path)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_bytes()


def _draft(path: Path) -> Path:
    """Writes a new key to a temporary file next to `path`, synced to disk."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, os.urandom(KEY_BYTES))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return draft


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.old")


def redacted(mcp: dict[str, McpServer]) -> dict[str, Json]:
    """The servers without their secrets: names, commands, addresses, and the names of variables and headers."""
    return {name: _redacted(server) for name, server in mcp.items()}


def _redacted(server: McpServer) -> Json:
    match server:
        case McpLocal():
            return {
                "type": "local",
                "command": [*server.command[:1], *("***" for _ in server.command[1:])],
                "env": dict.fromkeys(sorted(server.env), "***"),
                "cwd": server.cwd,
                "enabled": server.enabled,
            }
        case McpRemote():
            return {
                "type": "remote",
                "url": _without_secrets(server.url),
                "headers": dict.fromkeys(sorted(server.headers), "***"),
                "transport": server.transport,
                "enabled": server.enabled,
            }


def _without_secrets(url: str) -> str:
    """The URL without user info and query, which may contain a token."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
