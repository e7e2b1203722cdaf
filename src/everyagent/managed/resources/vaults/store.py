"""The store of vaults, each of which groups credentials."""

import msgspec

from everyagent.log.records import Record, RecordQuery, Records, Replace
from everyagent.managed.field_limits import checked_metadata, merged_metadata
from everyagent.managed.resources.record_store import RecordStore, retry_on_change
from everyagent.managed.resources.vaults.shape import Vault, VaultBody, VaultCreate, VaultUpdate
from everyagent.model.ids import new_id

KIND = "vault"
CREDENTIAL_KIND = "vault_credential"


class VaultStore(RecordStore[VaultBody, Vault]):
    def __init__(self, records: Records) -> None:
        super().__init__(records, KIND, VaultBody, Vault)

    async def create(self, asked: VaultCreate) -> Vault:
        body = VaultBody(display_name=asked.display_name, metadata=checked_metadata(asked.metadata or {}))
        return await self._insert(new_id("vlt_"), body)

    @retry_on_change
    async def update(self, vault_id: str, asked: VaultUpdate) -> Vault:
        record = await self._find_active(vault_id)
        old = self._body(record)
        body = VaultBody(
            display_name=asked.display_name or old.display_name,
            metadata=merged_metadata(old.metadata, asked.metadata) if asked.metadata else old.metadata,
        )
        change = Replace(kind=KIND, id=vault_id, version=record.version, body=msgspec.json.encode(body))
        (record,) = await self._records.write(change)
        return self._shown(record)

    @retry_on_change
    async def archive(self, id: str) -> Vault:
        """Archives its credentials, too, and deletes their secrets."""
        record = await self._records.find(KIND, id)
        if record.archived_at is not None:
            return self._shown(record)
        credentials = await self._records.page(RecordQuery(kind=CREDENTIAL_KIND, parent=id, limit=1000))
        record, *_ = await self._records.write(
            Replace(kind=KIND, id=id, version=record.version, body=record.body, archived=True),
            *(without_secret(credential) for credential in credentials),
        )
        return self._shown(record)


def without_secret(credential: Record) -> Replace:
    """Archives a credential: its secret is deleted, and its key is free again."""
    return Replace(
        kind=CREDENTIAL_KIND,
        id=credential.id,
        version=credential.version,
        body=credential.body,
        key=None,
        secret=None,
        archived=True,
    )
