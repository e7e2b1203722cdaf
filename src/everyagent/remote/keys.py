"""The keys of runners: made, listed, revoked.

The daemon never stores a key, only a secret derived from it, encrypted by the vault: enough to check signatures.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from everyagent.errors import NotFound, RecordExists, RecordNotFound, Unavailable
from everyagent.log.pending_audit import take_pending
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.model.ids import new_id
from everyagent.model.principals import current
from everyagent.model.runners import NewRunnerKey, RunnerKeyInfo
from everyagent.remote.wire import signing_secret
from everyagent.signatures import TOLERANCE_SECONDS

KIND = "runner_key"
_CONNECT = "runner_connect"
_PAGE = 1000
#: A key is read again after so long.
_CACHED_SECONDS = 5.0
_KEY_BYTES = 32


class _Body(Struct, frozen=True):
    name: str


class RunnerId(NamedTuple):
    workspace: str
    name: str


class RunnerKey(Struct, frozen=True):
    """`runner` is the runner's workspace and name; `secret` checks its signatures."""

    key_id: str
    runner: RunnerId
    secret: bytes


def parsed_key(text: str) -> tuple[str, bytes]:
    """The id and the secret bytes of a key. Raises `ValueError`."""
    key_id, _, encoded = text.strip().partition(".")
    try:
        key = base64.urlsafe_b64decode(encoded)
    except ValueError as error:
        raise ValueError("The runner's key is not what `everyagent runner keys create` printed.") from error
    if not key_id.startswith("rkey_") or len(key) != _KEY_BYTES:
        raise ValueError("The runner's key is not what `everyagent runner keys create` printed.")
    return key_id, key


class RunnerKeys:
    """A runner may have several valid keys, so that one can be replaced by another while it runs."""

    def __init__(
        self,
        records: Records,
        seal: Callable[[bytes, str], bytes],
        unseal: Callable[[bytes, str], bytes],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._seal = seal
        self._unseal = unseal
        self._clock = clock
        self._valid: dict[str, tuple[RunnerKey, float]] = {}
        #: Called with a key that was revoked.
        self.revoked: Callable[[RunnerKey], None] = lambda _: None

    async def create(self, name: str) -> NewRunnerKey:
        key_id, key = new_id("rkey_"), secrets.token_bytes(_KEY_BYTES)
        insert = Insert(
            kind=KIND,
            id=key_id,
            body=msgspec.json.encode(_Body(name)),
            secret=self._seal(signing_secret(key), key_id),
            workspace=current().creates_in,
        )
        (record,) = await self._records.write(insert, audit=take_pending(subject=key_id))
        return NewRunnerKey(key=_info(record), secret=f"{key_id}.{base64.urlsafe_b64encode(key).decode()}")

    async def list(self) -> list[RunnerKeyInfo]:
        return [
            _info(record) for record in await self._records.page(RecordQuery(kind=KIND, limit=_PAGE, archived=True))
        ]

    async def revoke(self, key_id: str) -> RunnerKeyInfo:
        try:
            record = await self._records.find(KIND, key_id)
        except RecordNotFound as error:
            raise NotFound(f"There is no runner key {key_id!r}. `everyagent runner keys list` shows all.") from error
        if record.archived_at is None:
            change = Replace(kind=KIND, id=key_id, version=record.version, body=record.body, archived=True, secret=None)
            (record,) = await self._records.write(change, audit=take_pending(subject=key_id))
        self._drop(key_id)
        return _info(record)

    async def find(self, key_id: str) -> RunnerKey | None:
        """The key, if it is valid. Another node of a cluster may have revoked it some seconds ago."""
        known, until = self._valid.get(key_id, (None, 0.0))
        now = self._clock()
        if known and now < until:
            return known
        try:
            record = await self._records.find(KIND, key_id)
        except RecordNotFound:
            return None
        except Unavailable:
            if known is None:
                raise
            return known  # a runner that works is not cut off because the database is away
        if record.archived_at is not None or record.secret is None:
            self._drop(key_id)
            return None
        name = msgspec.json.decode(record.body, type=_Body).name
        secret = self._unseal(record.secret, key_id)
        found = RunnerKey(key_id, RunnerId(record.workspace, name), secret)
        self._valid[key_id] = found, now + _CACHED_SECONDS
        return found

    def _drop(self, key_id: str) -> None:
        if known := self._valid.pop(key_id, None):
            self.revoked(known[0])

    async def take_connect(self, key: RunnerKey, id: str) -> bool:
        """Whether this connect is new: its id is remembered in the database while its signature is valid.

        So it is refused after a restart of the daemon, and by every node of a cluster.
        """
        digest = hashlib.sha256(f"{key.key_id}\n{id}".encode()).hexdigest()
        insert = Insert(kind=_CONNECT, id=digest, body=b"{}", parent=key.key_id, workspace=key.runner.workspace)
        try:
            (record,) = await self._records.write(insert)
        except RecordExists:
            return False
        late = record.created_at - int(2 * TOLERANCE_SECONDS * 1e6)
        old = await self._records.page(RecordQuery(kind=_CONNECT, until=late, order="asc", limit=_PAGE))
        if old:
            await self._forget(old)
        return True

    async def _forget(self, connects: Sequence[Record]) -> None:
        try:
            await self._records.write(*(Delete(kind=_CONNECT, id=each.id) for each in connects))
        except RecordNotFound:  # another connect does the same at this moment
            return


def _info(record: Record) -> RunnerKeyInfo:
    return RunnerKeyInfo(
        key_id=record.id,
        name=msgspec.json.decode(record.body, type=_Body).name,
        created_at=record.created_at // 1000,
        revoked_at=None if record.archived_at is None else record.archived_at // 1000,
    )
