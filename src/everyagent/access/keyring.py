"""The API keys of a daemon: made, listed, revoked, and found by their secret.

Keys are records; only the hash of a secret is stored. All of them are in memory, so a check is one lookup.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Protocol

import msgspec
from msgspec import Struct

from everyagent.access.token_bucket import TokenBucket
from everyagent.clock import Clock
from everyagent.errors import BadRequest, BudgetExceeded, NotFound, RateLimited, RecordNotFound
from everyagent.log.audit import AuditEntry, AuditTrail
from everyagent.log.log import Charge
from everyagent.log.pending_audit import take_pending
from everyagent.log.records import DEFAULT_WORKSPACE, Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.model.ids import new_id
from everyagent.model.keys import CreateKey, KeyInfo, NewKey
from everyagent.model.principals import OWNER_ID, SCOPES, EventActor, Principal, Scope, current

KIND = "api_key"
#: Secrets of keys begin with this.
PREFIX = "eak_"
_PAGE = 1000
#: Timers for the expiry of keys are set again after this many seconds.
_LONGEST_TIMER = 3600.0


class KeyStorage(Protocol):
    """The part of a `Log` in which keys, their spending and the audit trail are."""

    @property
    def records(self) -> Records: ...
    @property
    def audit(self) -> AuditTrail: ...
    async def spending(self) -> dict[str, float]: ...


class KeyBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`digest` is the SHA-256 of the secret, in hexadecimal; `expires_at` is in milliseconds."""

    name: str
    scopes: list[Scope]
    digest: str
    expires_at: int | None = None
    rate: int | None = None
    budget_usd: float | None = None
    sign_in: bool = False


class _Key:
    __slots__ = ("body", "bucket", "principal", "record", "timer")

    def __init__(self, record: Record, now: float) -> None:
        self.record = record
        self.body = body = msgspec.json.decode(record.body, type=KeyBody)
        scopes = SCOPES if "admin" in body.scopes else body.scopes
        self.principal = Principal(
            actor=EventActor(key_id=record.id, name=body.name),
            workspace=record.workspace,
            creates_in=record.workspace,
            scopes=frozenset(scopes),
        )
        self.bucket = TokenBucket(body.rate, now) if body.rate else None
        self.timer: asyncio.TimerHandle | None = None


class Keyring:
    """`ended` are called with the id of a key that was revoked or has expired, `changed` after a key was made or
    revoked here."""

    def __init__(self, storage: KeyStorage, clock: Clock) -> None:
        self.ended: list[Callable[[str], None]] = []
        self.changed: list[Callable[[], None]] = []
        self.audit = storage.audit
        self._storage = storage
        self._clock = clock
        self._keys: dict[str, _Key] = {}
        self._by_digest: dict[bytes, _Key] = {}
        self._spent: dict[str, float] = {}

    @classmethod
    async def load(cls, storage: KeyStorage, clock: Clock) -> "Keyring":
        """All keys of the storage. Called by the daemon itself, which sees all workspaces."""
        keyring = cls(storage, clock)
        await keyring.reload()
        return keyring

    async def reload(self) -> None:
        """Takes over what other daemons on the same storage have changed."""
        for key_id, usd in (await self._storage.spending()).items():
            self._spent[key_id] = max(self._spent.get(key_id, 0.0), usd)
        after: int | None = None
        while True:
            page = await self._storage.records.page(
                RecordQuery(kind=KIND, order="asc", limit=_PAGE, after=after, archived=True)
            )
            for record in page[:_PAGE]:
                self._take_over(record)
            if len(page) <= _PAGE:
                return
            after = page[_PAGE - 1].number

    def _take_over(self, record: Record) -> None:
        held = self._keys.get(record.id)
        if held is None or held.record.version < record.version:
            self._hold(record)
            if held is not None and record.archived_at is not None:
                self._end(record.id)

    def find(self, digest: bytes) -> Principal | None:
        """The principal of the key whose secret has this SHA-256, if it is valid now."""
        key = self._by_digest.get(digest)
        if key is None or self._expired(key):
            return None
        return key.principal

    def expires_at(self, key_id: str) -> int | None:
        """In milliseconds; None if the key has no expiry, or is the owner's token."""
        key = self._keys.get(key_id)
        return None if key is None else key.body.expires_at

    def check_rate(self, key_id: str) -> None:
        key = self._keys.get(key_id)
        if key is None or key.bucket is None:
            return
        seconds = key.bucket.take(self._clock.micros() / 1e6)
        if seconds:
            raise RateLimited(
                f"The key {key.body.name!r} may make {key.body.rate} requests per minute. "
                f"Try again in {seconds:.1f} seconds.",
                retryAfter=seconds,
            )

    def check_budget(self, key_id: str) -> None:
        """Raises `BudgetExceeded` if the key may begin no more turns."""
        if self.over_budget(key_id):
            body = self._keys[key_id].body
            raise BudgetExceeded(
                f"The key {body.name!r} has used up its budget of {_plain(body.budget_usd)} USD. Ask for a new key.",
                budgetUsd=body.budget_usd,
                spentUsd=self._spent.get(key_id, 0.0),
            )

    def over_budget(self, key_id: str) -> bool:
        key = self._keys.get(key_id)
        return (
            key is not None and key.body.budget_usd is not None and self._spent.get(key_id, 0.0) >= key.body.budget_usd
        )

    def charge(self, charges: Sequence[Charge]) -> list[str]:
        """Counts committed charges. Returns the names of keys that are over their budget."""
        for key_id, usd in charges:
            self._spent[key_id] = self._spent.get(key_id, 0.0) + usd
        return [self._keys[key_id].body.name for key_id, _ in charges if self.over_budget(key_id)]

    async def create(self, asked: CreateKey) -> NewKey:
        """Makes a key in the workspace of the principal; the owner may name any."""
        principal = current()
        workspace = asked.workspace or principal.creates_in
        if not principal.sees(workspace):
            raise BadRequest(
                f"This key belongs to the workspace {principal.workspace!r} and can make keys for that one only.",
                field="workspace",
            )
        if asked.expires_at is not None and asked.expires_at <= self._now():
            raise BadRequest("The key would have expired already.", field="expiresAt")
        key_id = new_id("key_")
        return await self._make(key_id, asked, workspace, take_pending(subject=key_id))

    async def sign_in(self, asked: CreateKey, *, operation: str, subject: str) -> NewKey:
        """Makes the key of somebody who signed in. Earlier sign-ins of the same name that have ended are removed."""
        key_id, workspace = new_id("key_"), asked.workspace or DEFAULT_WORKSPACE
        made = await self._make(
            key_id, asked, workspace, self._entry(key_id, asked.name, workspace, operation, subject), sign_in=True
        )
        for key in [*self._keys.values()]:
            ended = key.record.archived_at is not None or self._expired(key)
            if key.body.sign_in and key.body.name == asked.name and ended:
                with suppress(RecordNotFound):  # another daemon on the same storage was faster
                    await self._storage.records.write(Delete(kind=KIND, id=key.record.id))
                self._forget(key)
        return made

    async def sign_out(self, secret: str, *, operation: str) -> None:
        """Revokes the key of a sign-in. Another secret changes nothing."""
        key = self._by_digest.get(hashlib.sha256(secret.encode()).digest())
        if key is not None and key.body.sign_in:
            await self._revoke(key, self._entry(key.record.id, key.body.name, key.record.workspace, operation, None))

    def is_sign_in(self, key_id: str) -> bool:
        key = self._keys.get(key_id)
        return key is not None and key.body.sign_in

    async def _make(
        self, key_id: str, asked: CreateKey, workspace: str, audit: AuditEntry | None, *, sign_in: bool = False
    ) -> NewKey:
        secret = PREFIX + secrets.token_urlsafe(32)
        body = KeyBody(
            name=asked.name,
            scopes=sorted(set(asked.scopes)),
            digest=hashlib.sha256(secret.encode()).hexdigest(),
            expires_at=asked.expires_at,
            rate=asked.rate,
            budget_usd=asked.budget_usd,
            sign_in=sign_in,
        )
        insert = Insert(kind=KIND, id=key_id, body=msgspec.json.encode(body), workspace=workspace)
        (record,) = await self._storage.records.write(insert, audit=audit)
        self._hold(record)
        self._announce()
        return NewKey(key=self._info(self._keys[record.id]), secret=secret)

    def list(self) -> "list[KeyInfo]":
        """The keys that the principal sees, newest first, revoked ones too."""
        principal = current()
        return [self._info(key) for key in reversed(self._keys.values()) if principal.sees(key.record.workspace)]

    async def revoke(self, key_id: str) -> KeyInfo:
        """Refuses the key from now on, also in open streams. Revoking it again changes nothing."""
        key = self._keys.get(key_id)
        if key is None or not current().sees(key.record.workspace):
            raise NotFound(f"There is no key {key_id!r}. GET /v1/keys lists those there are.")
        if key.record.archived_at is None:
            await self._revoke(key, take_pending())
        return self._info(self._keys[key_id])

    async def _revoke(self, key: _Key, audit: AuditEntry | None) -> None:
        old = key.record
        change = Replace(kind=KIND, id=old.id, version=old.version, body=old.body, archived=True)
        (record,) = await self._storage.records.write(change, audit=audit)
        self._hold(record)
        self._end(old.id)
        self._announce()

    def _entry(self, key_id: str, name: str, workspace: str, operation: str, subject: str | None) -> AuditEntry:
        return AuditEntry(
            at=self.now(), key_id=key_id, name=name, workspace=workspace, operation=operation, subject=subject
        )

    def now(self) -> int:
        """In microseconds."""
        return self._clock.micros()

    def close(self) -> None:
        for key in self._keys.values():
            if key.timer:
                key.timer.cancel()

    def _hold(self, record: Record) -> None:
        old = self._keys.get(record.id)
        key = self._keys[record.id] = _Key(record, self._clock.micros() / 1e6)
        digest = bytes.fromhex(key.body.digest)
        if old and old.timer:
            old.timer.cancel()
        if record.archived_at is not None:
            self._by_digest.pop(digest, None)
        else:
            self._by_digest[digest] = key
            self._watch(key)

    def _forget(self, key: _Key) -> None:
        if key.timer:
            key.timer.cancel()
        self._keys.pop(key.record.id, None)
        self._by_digest.pop(bytes.fromhex(key.body.digest), None)

    def _watch(self, key: _Key) -> None:
        """Streams of a key end when it expires."""
        if key.body.expires_at is None:
            return
        seconds = (key.body.expires_at - self._now()) / 1000
        if seconds <= 0:
            self._end(key.record.id)
        else:
            delay = min(seconds, _LONGEST_TIMER)
            key.timer = asyncio.get_running_loop().call_later(delay, self._watch, key)

    def _announce(self) -> None:
        for changed in self.changed:
            changed()

    def _end(self, key_id: str) -> None:
        for ended in self.ended:
            ended(key_id)

    def _expired(self, key: _Key) -> bool:
        return key.body.expires_at is not None and key.body.expires_at <= self._now()

    def _now(self) -> int:
        return self._clock.micros() // 1000

    def _info(self, key: _Key) -> KeyInfo:
        record, body = key.record, key.body
        return KeyInfo(
            key_id=record.id,
            name=body.name,
            workspace=record.workspace,
            scopes=body.scopes,
            created_at=record.created_at // 1000,
            expires_at=body.expires_at,
            revoked_at=None if record.archived_at is None else record.archived_at // 1000,
            rate=body.rate,
            budget_usd=body.budget_usd,
            spent_usd=self._spent.get(record.id, 0.0),
            sign_in=body.sign_in,
        )


def workspace_of(principal: Principal) -> str:
    """The workspace under which an act of the principal is recorded."""
    return principal.workspace or DEFAULT_WORKSPACE


def is_owner(principal: Principal) -> bool:
    return principal.key_id == OWNER_ID


def _plain(dollars: float | None) -> str:
    """An amount without an exponent."""
    return format(Decimal(str(dollars or 0)), "f")
