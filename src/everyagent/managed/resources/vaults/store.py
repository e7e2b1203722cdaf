"""Vaults: where the credentials of one user, or one purpose, are kept together."""

import msgspec

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, RecordChanged
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.environments.shape import Deleted
from everyagent.managed.resources.pages import Page, page_of
from everyagent.managed.resources.vaults.shape import Vault, VaultBody, VaultCreate, VaultList, VaultUpdate
from everyagent.model.ids import new_id

KIND = "vault"
CREDENTIAL_KIND = "vault_credential"


class Vaults:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def create(self, asked: VaultCreate) -> Vault:
        body = VaultBody(display_name=asked.display_name, metadata=checked_metadata(asked.metadata or {}))
        (record,) = await self._records.write(Insert(kind=KIND, id=new_id("vlt_"), body=msgspec.json.encode(body)))
        return _vault(record)

    async def retrieve(self, vault_id: str) -> Vault:
        return _vault(await self._records.find(KIND, vault_id))

    async def open(self, vault_id: str) -> Vault:
        """One that may be used and changed."""
        vault = await self.retrieve(vault_id)
        if vault.archived_at is not None:
            raise BadRequest(f"The vault {vault_id} is archived.", error_code="vault_archived")
        return vault

    async def list(self, query: VaultList) -> Page[Vault]:
        wanted = RecordQuery(kind=KIND, limit=query.limit, archived=query.include_archived)
        return await page_of(self._records, wanted, query.page, _vault)

    async def update(self, vault_id: str, asked: VaultUpdate) -> Vault:
        while True:
            await self.open(vault_id)
            record = await self._records.find(KIND, vault_id)
            old = msgspec.json.decode(record.body, type=VaultBody)
            body = VaultBody(
                display_name=asked.display_name or old.display_name,
                metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
            )
            try:
                (record,) = await self._records.write(
                    Replace(kind=KIND, id=vault_id, version=record.version, body=msgspec.json.encode(body))
                )
            except RecordChanged:
                continue
            return _vault(record)

    async def archive(self, vault_id: str) -> Vault:
        """Its credentials are archived with it: their secrets are gone."""
        while True:
            record = await self._records.find(KIND, vault_id)
            if record.archived_at is not None:
                return _vault(record)
            credentials = await self._records.page(RecordQuery(kind=CREDENTIAL_KIND, parent=vault_id, limit=1000))
            try:
                record, *_ = await self._records.write(
                    Replace(kind=KIND, id=vault_id, version=record.version, body=record.body, archived=True),
                    *(purged(credential) for credential in credentials),
                )
            except RecordChanged:
                continue
            return _vault(record)

    async def delete(self, vault_id: str) -> Deleted:
        await self._records.write(Delete(kind=KIND, id=vault_id))
        return Deleted(id=vault_id, type="vault_deleted")


def purged(credential: Record) -> Replace:
    """Archived: its secret is gone, its key is free."""
    return Replace(
        kind=CREDENTIAL_KIND,
        id=credential.id,
        version=credential.version,
        body=credential.body,
        key=None,
        secret=None,
        archived=True,
    )


def _vault(record: Record) -> Vault:
    body = msgspec.json.decode(record.body, type=VaultBody)
    return Vault(
        id=record.id,
        display_name=body.display_name,
        metadata=body.metadata,
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
        archived_at=None if record.archived_at is None else rfc3339(record.archived_at),
    )
