"""API keys with limited access: one for an environment's workers, and one for each piece of work.

A key holds its claims and a signature, so none is stored. A new vault key voids all of them.
"""

import base64
import binascii
import hmac
import re

import msgspec

from everyagent.clock import Clock
from everyagent.sessions.launch.secrets import SecretVault

PREFIX = "sk-everyagent-"
_WORK_MICROS = 24 * 3600 * 1_000_000
_ROOT = "/anthropic/v1"
_MEMORY = re.compile(rf"{_ROOT}/memory_stores/([^/]+)(?:/(memories|memory_versions)(?:/[^/]+)?)?")
_READABLE = re.compile(rf"{_ROOT}/skills(/.*)?")


class _Claims(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`work`, `session` and `ends_at` are set in the key of a piece of work.

    `memory` has the session's stores, each with whether it may write to it.
    """

    environment: str
    work: str | None = None
    session: str | None = None
    ends_at: int = 0
    memory: dict[str, bool] = {}


class WorkerKeys:
    def __init__(self, vault: SecretVault, clock: Clock) -> None:
        self._seal = vault.derived(b"environment keys")
        self._clock = clock

    def of_environment(self, environment_id: str) -> str:
        """A key for the environment's work queue."""
        return self._made(_Claims(environment=environment_id))

    def secret(self, environment_id: str, work_id: str, session_id: str, memory: dict[str, bool]) -> str:
        """The secret of a piece of work. For a day it opens that work, its session's events and memory, and skills."""
        ends_at = self._clock.micros() + _WORK_MICROS
        claims = _Claims(environment=environment_id, work=work_id, session=session_id, ends_at=ends_at, memory=memory)
        token = self._made(claims)
        return _unpadded(msgspec.json.encode({"sessions_token": token}))

    def opens(self, key: str, method: str, path: str) -> bool:
        claims = self._claims(key)
        if claims is None:
            return False
        queue = f"{_ROOT}/environments/{claims.environment}/work"
        if claims.work is None:
            return path == queue or path.startswith(f"{queue}/")
        if claims.ends_at <= self._clock.micros():
            return False
        session, own = f"{_ROOT}/sessions/{claims.session}", f"{queue}/{claims.work}"
        readable = path in (session, own) or bool(_READABLE.fullmatch(path))
        return (
            path.startswith((f"{own}/", f"{session}/events"))
            or path == f"{session}/stream"
            or (method == "GET" and readable)
            or _opens_memory(claims.memory, method, path)
        )

    def session_of(self, key: str) -> str | None:
        """The session that a worker's key belongs to."""
        claims = self._claims(key) if key.startswith(PREFIX) else None
        return claims.session if claims else None

    def _made(self, claims: _Claims) -> str:
        payload = msgspec.json.encode(claims)
        return f"{PREFIX}{_unpadded(payload)}.{_unpadded(hmac.digest(self._seal, payload, 'sha256'))}"

    def _claims(self, key: str) -> _Claims | None:
        payload, dot, seal = key.removeprefix(PREFIX).partition(".")
        try:
            claims = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            given = base64.urlsafe_b64decode(seal + "=" * (-len(seal) % 4))
            if not dot or not hmac.compare_digest(given, hmac.digest(self._seal, claims, "sha256")):
                return None
            return msgspec.json.decode(claims, type=_Claims)
        except (binascii.Error, ValueError):
            return None


def _opens_memory(stores: dict[str, bool], method: str, path: str) -> bool:
    """Whether the session may read or write this part of its memory stores."""
    match = _MEMORY.fullmatch(path)
    if match is None or match[1] not in stores:
        return False
    return method == "GET" or (stores[match[1]] and match[2] == "memories")


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
