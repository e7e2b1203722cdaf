"""API keys with limited access: one for an environment's workers, and one for each piece of work.

A key holds its claims and a signature, so its secret is not stored. A new vault key voids all of them. An
environment's keys are listed as records: one that is revoked, or whose environment is archived, opens nothing.
"""

import base64
import binascii
import hmac
import re
from typing import Protocol

import msgspec

from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest, RecordNotFound
from everyagent.log.records import Insert, Record, RecordQuery, Records
from everyagent.managed.resources.record_store import archived, find_in, moment
from everyagent.model.ids import new_id
from everyagent.model.principals import EventActor, Principal, current
from everyagent.sessions.launch.secrets import SecretVault

PREFIX = "sk-everyagent-"
KIND = "environment_key"
MAX_KEYS = 100
_SHARED = "shared"
_WORK_MICROS = 24 * 3600 * 1_000_000
_ROOT = "/anthropic/v1"
_MEMORY = re.compile(rf"{_ROOT}/memory_stores/([^/]+)(?:/(memories|memory_versions)(?:/[^/]+)?)?")
_SESSION = re.compile(rf"{_ROOT}/sessions/([^/]+)(/events|/events/stream|/stream)?")
_READABLE = re.compile(rf"{_ROOT}/skills(/.*)?")


class _KeyBody(msgspec.Struct, frozen=True):
    name: str


class _Claims(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`work`, `session` and `ends_at` are set in the key of a piece of work.

    `memory` has the session's stores, each with whether it may write to it. `key` is the record of the environment's
    key, also of that with which the work was polled; keys from before there were records have none.
    """

    environment: str
    key: str = ""
    work: str | None = None
    session: str | None = None
    ends_at: int = 0
    memory: dict[str, bool] = {}


class WorkerKey(msgspec.Struct, frozen=True, kw_only=True, tag="environment_key"):
    """A key of an environment's workers, without its secret."""

    id: str
    environment_id: str
    name: str
    created_at: str
    revoked_at: str | None = None


class EnvironmentSessions(Protocol):
    """The facts about sessions by which an environment's key is checked."""

    async def environment_of(self, session_id: str) -> str | None: ...

    async def memory_of(self, environment_id: str) -> dict[str, bool]:
        """The memory stores of sessions that wait for a worker, or have one."""
        ...


class WorkerKeys:
    """`sessions` is set once the stores that it needs exist."""

    sessions: EnvironmentSessions

    def __init__(self, records: Records, vault: SecretVault, clock: Clock) -> None:
        self._records = records
        self._seal = vault.derived(b"environment keys")
        self._clock = clock

    async def of_environment(self, environment_id: str) -> str:
        """The key that all workers of the environment can share; another one if the last was revoked."""
        for record in await self._records.page(RecordQuery(kind=KIND, parent=environment_id, limit=MAX_KEYS)):
            if record.key == _SHARED:
                return self._made(_Claims(environment=environment_id, key=record.id))
        return (await self.create(environment_id, _SHARED, key=_SHARED))[1]

    async def create(self, environment_id: str, name: str, key: str | None = None) -> tuple[WorkerKey, str]:
        """A new key for the environment's work queue, and its secret."""
        if await self._records.count(KIND, environment_id) >= MAX_KEYS:
            raise BadRequest(f"An environment has at most {MAX_KEYS} keys. Revoke one of them first.")
        body = msgspec.json.encode(_KeyBody(name=name))
        insert = Insert(kind=KIND, id=new_id("wkey_"), parent=environment_id, key=key, body=body)
        (record,) = await self._records.write(insert)
        return _shown(record), self._made(_Claims(environment=environment_id, key=record.id))

    async def list(self, environment_id: str) -> "list[WorkerKey]":
        """Newest first, without those that were revoked."""
        page = await self._records.page(RecordQuery(kind=KIND, parent=environment_id, limit=MAX_KEYS))
        return [_shown(record) for record in page]

    async def revoke(self, environment_id: str, key_id: str) -> WorkerKey:
        """The key opens nothing from now on, and neither do the secrets of work that was polled with it."""
        await find_in(self._records, KIND, key_id, environment_id, f"There is no key {key_id!r} in {environment_id!r}.")
        return _shown(await archived(self._records, KIND, key_id))

    async def principal(self, key: str, method: str, path: str) -> Principal | None:
        """The principal of a worker whose key opens the path, or None."""
        claims = self._claims(key)
        if claims is None or not (self.opens(key, method, path) or await self._opens_sessions(claims, method, path)):
            return None
        try:
            environment = await self._records.find("environment", claims.environment)
            if environment.archived_at is not None:
                return None
            if claims.key and (await self._records.find(KIND, claims.key)).archived_at is not None:
                return None
        except RecordNotFound:
            return None
        return Principal(
            actor=EventActor(key_id=claims.key or "worker", name="worker"),
            workspace=environment.workspace,
            creates_in=environment.workspace,
            scopes=frozenset(["read", "run", "answer"]),
        )

    def secret(self, environment_id: str, work_id: str, session_id: str, memory: dict[str, bool]) -> str:
        """The secret of a piece of work. For a day it opens that work, its session's events and memory, and skills."""
        ends_at = self._clock.micros() + _WORK_MICROS
        polled_with = current().key_id
        claims = _Claims(
            environment=environment_id,
            key=polled_with if polled_with.startswith("wkey_") else "",
            work=work_id,
            session=session_id,
            ends_at=ends_at,
            memory=memory,
        )
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

    async def _opens_sessions(self, claims: _Claims, method: str, path: str) -> bool:
        """An environment's key opens its sessions as that of a piece of work does, for workers that have no other."""
        if claims.work is not None:
            return False
        if found := _SESSION.fullmatch(path):
            allowed = method == "GET" or (found[2] or "").startswith("/events")
            return allowed and await self.sessions.environment_of(found[1]) == claims.environment
        if method == "GET" and _READABLE.fullmatch(path):
            return True
        if not _MEMORY.fullmatch(path):
            return False
        return _opens_memory(await self.sessions.memory_of(claims.environment), method, path)

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


def _shown(record: Record) -> WorkerKey:
    return WorkerKey(
        id=record.id,
        environment_id=record.parent,
        name=msgspec.json.decode(record.body, type=_KeyBody).name,
        created_at=rfc3339(record.created_at),
        revoked_at=moment(record.archived_at),
    )


def _opens_memory(stores: dict[str, bool], method: str, path: str) -> bool:
    """Whether the session may read or write this part of its memory stores."""
    match = _MEMORY.fullmatch(path)
    if match is None or match[1] not in stores:
        return False
    return method == "GET" or (stores[match[1]] and match[2] == "memories")


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
