"""Archiving what nobody changes any more: it stays to be read, and its name is free again."""

from everyagent.errors import RecordChanged
from everyagent.log.records import Record, Records, Replace


async def archived(records: Records, kind: str, id: str) -> Record:
    """The record as it is then, whoever archived it."""
    record = await records.find(kind, id)
    while record.archived_at is None:
        try:
            (record,) = await records.write(
                Replace(kind=kind, id=id, version=record.version, body=record.body, key=None, archived=True)
            )
        except RecordChanged:
            record = await records.find(kind, id)
    return record
