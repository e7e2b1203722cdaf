"""The keys of runners: made, listed, revoked.

The daemon never stores a key, only a secret derived from it, encrypted by the vault: enough to check signatures.
"""

import base64
import secrets
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from everyagent.errors import NotFound, RecordNotFound
from everyagent.log.pending_audit import take_pending
from everyagent.log.records import Insert, Record, RecordQuery, Records, Replace
from everyagent.model.ids import new_id
from everyagent.model.principals import current
from everyagent.model.runners import NewRunnerKey, RunnerKeyInfo
from everyagent.remote.wire import signing_secret

KIND = "runner_key"
_PAGE = 1000
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
        self, records: Records, seal: Callable[[bytes, str], bytes], unseal: Callable[[bytes, str], bytes]
    ) -> None:
        self._records = records
        self._seal = seal
        self._unseal = unseal
        self._valid: dict[str, RunnerKey] = {}
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
        if key := self._valid.pop(key_id, None):
            self.revoked(key)
        return _info(record)

    async def find(self, key_id: str) -> RunnerKey | None:
        """The key, if it is valid."""
        if found := self._valid.get(key_id):
            return found
        try:
            record = await self._records.find(KIND, key_id)
        except RecordNotFound:
            return None
        if record.archived_at is not None or record.secret is None:
            return None
        name = msgspec.json.decode(record.body, type=_Body).name
        secret = self._unseal(record.secret, key_id)
        found = self._valid[key_id] = RunnerKey(key_id, RunnerId(record.workspace, name), secret)
        return found

    async def known(self, name: str) -> bool:
        """Whether a runner of this name has a valid key."""
        return any(key.name == name and key.revoked_at is None for key in await self.list())


def _info(record: Record) -> RunnerKeyInfo:
    return RunnerKeyInfo(
        key_id=record.id,
        name=msgspec.json.decode(record.body, type=_Body).name,
        created_at=record.created_at // 1000,
        revoked_at=None if record.archived_at is None else record.archived_at // 1000,
    )
