"""The store of credentials. Secrets are sealed on arrival and opened only for sessions that use the vault."""

from collections.abc import Sequence
from datetime import datetime

import anyio
import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest, NotFound, RecordChanged
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.logs import get_logger
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.pages import Page, micros, page_of
from everyagent.managed.resources.record_store import Deleted, ListQuery, find_in, retry_on_change, shown_as
from everyagent.managed.resources.vaults import credential_kinds as kinds
from everyagent.managed.resources.vaults import oauth
from everyagent.managed.resources.vaults.restrictions import unapplied
from everyagent.managed.resources.vaults.shape import (
    Bearer,
    Credential,
    CredentialBody,
    CredentialCreate,
    CredentialUpdate,
    Oauth,
    RefreshOutcome,
    Secrets,
    Validation,
    Variable,
)
from everyagent.managed.resources.vaults.store import CREDENTIAL_KIND, VaultStore, without_secret
from everyagent.model.ids import new_id
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.sessions.locks import Locks

MAX_IN_A_VAULT = 20
#: A token that expires sooner than this is renewed before its use.
_EARLY_MICROS = 120 * 1_000_000

logger = get_logger(__name__)


class VaultSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """The secrets of a session's vaults: variables by name, bearer tokens by the URL of their MCP server.

    `hidden` are further values of the credentials, which no agent gets. `problems` names the vaults that are missing.
    """

    env: dict[str, str]
    bearers: dict[str, str]
    hidden: dict[str, str]
    problems: list[str]


class _Renewal:
    """A renewal under way. Without a `result` when it is over, its caller was cancelled."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.result: tuple[Record, RefreshOutcome] | None = None


class CredentialStore:
    def __init__(self, records: Records, vaults: VaultStore, seal: SecretVault, locks: Locks, clock: Clock) -> None:
        self._records = records
        self._vaults = vaults
        self._seal = seal
        self._locks = locks
        self._clock = clock
        self._renewals: dict[str, _Renewal] = {}

    async def create(self, vault_id: str, asked: CredentialCreate) -> Credential:
        await self._vaults.retrieve_active(vault_id)
        if await self._records.count(CREDENTIAL_KIND, vault_id) >= MAX_IN_A_VAULT:
            raise BadRequest(f"A vault holds at most {MAX_IN_A_VAULT} credentials. Archive one, or use another vault.")
        auth, secrets = kinds.made(asked.auth)
        body = CredentialBody(
            auth=auth, display_name=asked.display_name, metadata=checked_metadata(asked.metadata or {})
        )
        credential_id = new_id("vcrd_")
        (record,) = await self._records.write(
            Insert(
                kind=CREDENTIAL_KIND,
                id=credential_id,
                parent=vault_id,
                key=kinds.key_of(auth),
                body=msgspec.json.encode(body),
                secret=self._sealed(secrets, credential_id),
            )
        )
        return _credential(record)

    async def retrieve(self, vault_id: str, credential_id: str) -> Credential:
        return _credential(await self._find(vault_id, credential_id))

    async def list(self, vault_id: str, query: ListQuery) -> Page[Credential]:
        await self._vaults.retrieve(vault_id)
        wanted = RecordQuery(kind=CREDENTIAL_KIND, parent=vault_id, limit=query.limit, archived=query.include_archived)
        return await page_of(self._records, wanted, query.page, _credential)

    @retry_on_change
    async def update(self, vault_id: str, credential_id: str, asked: CredentialUpdate) -> Credential:
        record = await self._find(vault_id, credential_id)
        old, secrets = _body(record), self._opened(record)
        auth = old.auth
        if asked.auth:
            auth, secrets = kinds.updated(auth, secrets, asked.auth)
        body = CredentialBody(
            auth=auth,
            display_name=old.display_name if asked.display_name is UNSET else asked.display_name,
            metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
        )
        return _credential(await self._rewrite(record, body, secrets))

    @retry_on_change
    async def archive(self, vault_id: str, credential_id: str) -> Credential:
        record = await self._find(vault_id, credential_id)
        if record.archived_at is None:
            (record,) = await self._records.write(without_secret(record))
        return _credential(record)

    async def delete(self, vault_id: str, credential_id: str) -> Deleted:
        await self._find(vault_id, credential_id)
        await self._records.write(Delete(kind=CREDENTIAL_KIND, id=credential_id))
        return Deleted(id=credential_id, type="vault_credential_deleted")

    async def validate(self, vault_id: str, credential_id: str) -> Validation:
        """Sends the token to its MCP server; if it is refused, renews it and tries again."""
        record = await self._find(vault_id, credential_id)
        auth = _body(record).auth
        if isinstance(auth, Variable):
            raise BadRequest("Only credentials of MCP servers can be validated.", field="auth.type")
        secrets = self._opened(record)
        probe = await oauth.probe(auth.mcp_server_url, secrets.value)
        renewal: RefreshOutcome | None = None
        if oauth.refused(probe):
            record, renewal = await self._renew(record)
            if renewal.status == "succeeded":
                probe = await oauth.probe(auth.mcp_server_url, self._opened(record).value)
        return Validation(
            credential_id=credential_id,
            vault_id=vault_id,
            status=oauth.status(probe),
            has_refresh_token=secrets.refresh_token is not None,
            mcp_probe=probe,
            refresh=renewal,
            validated_at=rfc3339(self._clock.micros()),
        )

    async def given_by(self, vault_ids: Sequence[str]) -> VaultSecrets:
        """The secrets for a session. The first vault wins for each key; OAuth tokens close to expiry are renewed."""
        env: dict[str, str] = {}
        bearers: dict[str, str] = {}
        hidden: dict[str, str] = {}
        problems: list[str] = []
        for vault_id in vault_ids:
            try:
                await self._vaults.retrieve_active(vault_id)
            except (NotFound, BadRequest) as error:
                problems.append(f"{error.detail} The session works without its secrets.")
                continue
            wanted = RecordQuery(kind=CREDENTIAL_KIND, parent=vault_id, limit=MAX_IN_A_VAULT)
            for record in await self._records.page(wanted):
                match _body(record).auth:
                    case Variable(secret_name=name):
                        env.setdefault(name, self._opened(record).value)
                    case Bearer(mcp_server_url=url):
                        bearers.setdefault(url, self._opened(record).value)
                    case Oauth(mcp_server_url=url) as auth:
                        record = (await self._renew(record))[0] if self._ends_soon(auth) else record
                        bearers.setdefault(url, self._opened(record).value)
                        hidden |= _hidden(self._opened(record), record.id)
        return VaultSecrets(env=env, bearers=bearers, hidden=hidden, problems=problems)

    async def unapplied(self, vault_ids: Sequence[str]) -> Sequence[str]:
        """Warnings about restrictions of the variables that a session gets of these vaults."""
        variables: dict[str, Variable] = {}
        for vault_id in vault_ids:
            wanted = RecordQuery(kind=CREDENTIAL_KIND, parent=vault_id, limit=MAX_IN_A_VAULT)
            for auth in [_body(record).auth for record in await self._records.page(wanted)]:
                if isinstance(auth, Variable):
                    variables.setdefault(auth.secret_name, auth)
        return [warning for variable in variables.values() for warning in unapplied(variable)]

    async def _renew(self, record: Record) -> tuple[Record, RefreshOutcome]:
        """The credential with a new access token. All callers at one time share one request, also if it fails."""
        renewal = self._renewals.get(record.id)
        if renewal is None:
            renewal = self._renewals[record.id] = _Renewal()
            try:
                renewal.result = await self._request_tokens(record)
            finally:
                del self._renewals[record.id]
                renewal.over.set()
        await renewal.over.wait()
        return renewal.result or await self._renew(record)

    async def _request_tokens(self, record: Record) -> tuple[Record, RefreshOutcome]:
        """A refresh token may be good for one use, so the requests for one credential are made one at a time, and a
        caller that waited takes what the first one received.
        """
        async with self._locks.hold(f"renewal of {record.id}"):
            spent, record = record, await self._records.find(CREDENTIAL_KIND, record.id)
            auth, secrets = _body(record).auth, self._opened(record)
            if secrets.value != self._opened(spent).value:
                return record, RefreshOutcome(status="succeeded", http_response=None)
            if not isinstance(auth, Oauth) or auth.refresh is None or secrets.refresh_token is None:
                return record, RefreshOutcome(status="no_refresh_token", http_response=None)
            outcome = RefreshOutcome(status="connect_error", http_response=None)
            # The request may void the old refresh token: its response is stored even if the caller stops waiting.
            with anyio.CancelScope(shield=True):
                outcome, tokens = await oauth.renew(auth.refresh, secrets)
                if tokens is None:
                    logger.warning("credential not renewed", credential=record.id, status=outcome.status)
                else:
                    record = await self._store_tokens(record, secrets, tokens)
            return record, outcome

    async def _store_tokens(self, record: Record, spent: Secrets, tokens: oauth.OauthTokens) -> Record:
        """Keeps the tokens, unless a client has given the credential others since the `spent` ones were used."""
        ends = None if tokens.expires_in is None else rfc3339(self._clock.micros() + tokens.expires_in * 1_000_000)
        refresh_token = tokens.refresh_token or spent.refresh_token
        while True:
            body, secrets = _body(record), self._opened(record)
            if not isinstance(body.auth, Oauth) or secrets != spent:
                return record
            new = replace(body, auth=replace(body.auth, expires_at=ends))
            try:
                sealed = replace(secrets, value=tokens.access_token, refresh_token=refresh_token)
                return await self._rewrite(record, new, sealed)
            except RecordChanged:
                record = await self._records.find(CREDENTIAL_KIND, record.id)

    def _ends_soon(self, auth: Oauth) -> bool:
        ends = None if auth.expires_at is None else micros(datetime.fromisoformat(auth.expires_at))
        return ends is not None and ends - self._clock.micros() < _EARLY_MICROS

    async def _rewrite(self, record: Record, body: CredentialBody, secrets: Secrets) -> Record:
        (record,) = await self._records.write(
            Replace(
                kind=CREDENTIAL_KIND,
                id=record.id,
                version=record.version,
                body=msgspec.json.encode(body),
                secret=self._sealed(secrets, record.id),
            )
        )
        return record

    async def _find(self, vault_id: str, credential_id: str) -> Record:
        missing = f"There is no credential {credential_id!r} in the vault {vault_id!r}."
        return await find_in(self._records, CREDENTIAL_KIND, credential_id, vault_id, missing)

    def _sealed(self, secrets: Secrets, credential_id: str) -> bytes:
        return self._seal.seal(msgspec.json.encode(secrets), credential_id)

    def _opened(self, record: Record) -> Secrets:
        if record.secret is None:
            raise BadRequest(
                f"The credential {record.id} is archived: its secret is gone.", error_code="credential_archived"
            )
        return msgspec.json.decode(self._seal.unseal(record.secret, record.id), type=Secrets)


def _hidden(secrets: Secrets, credential_id: str) -> dict[str, str]:
    kept = {"refresh_token": secrets.refresh_token, "client_secret": secrets.client_secret}
    return {f"{credential_id}.{name}": value for name, value in kept.items() if value}


def _body(record: Record) -> CredentialBody:
    return msgspec.json.decode(record.body, type=CredentialBody)


def _credential(record: Record) -> Credential:
    return shown_as(Credential, record, _body(record), vault_id=record.parent)
