"""Rules of the audit trail and of what keys have spent: written with their effect, kept after it is gone."""

import asyncio

import pytest

from everyagent.errors import LogConflict, RecordNotFound, SessionExists
from everyagent.log.audit import AuditEntry, AuditHead, AuditQuery, verified
from everyagent.log.log import Append, Charge, Log
from everyagent.log.records import Delete, Insert
from everyagent.testing.log_rules.samples import START, LogStore, event, new_session, record


def _entry(operation: str, workspace: str = "default", session_id: str | None = None) -> AuditEntry:
    return AuditEntry(
        at=START, key_id="key_1", name="Ada", workspace=workspace, operation=operation, session_id=session_id
    )


async def _operations(log: Log, query: AuditQuery | None = None) -> list[str]:
    return [found.decoded().operation for found in await log.audit.page(query or AuditQuery(after=0))]


class AuditingRules:
    async def test_an_entry_is_written_with_its_effect(self, log: Log, store: LogStore) -> None:
        made = await log.create(record("one"), [event(1)], audit=_entry("create"))
        await log.append(
            Append(session=made.number, epoch=0, expected=1, at=START, events=[event(2)], audit=_entry("append"))
        )
        await log.records.write(Insert(kind="thing", id="a", body=b"{}"), audit=_entry("write"))
        await log.audit.keep(_entry("other"))
        await log.delete("one", _entry("delete"))
        expected = ["create", "append", "write", "other", "delete"]
        assert await _operations(log) == expected
        await log.close()
        again = await store.open()
        assert await _operations(again) == expected
        assert isinstance(await verified(again.audit), AuditHead)
        await again.close()

    async def test_a_refused_effect_has_no_entry(self, log: Log) -> None:
        made = await new_session(log)
        with pytest.raises(SessionExists):
            await log.create(record("one"), [event(1)], audit=_entry("create"))
        with pytest.raises(LogConflict):
            await log.append(
                Append(session=made.number, epoch=0, expected=7, at=START, events=[event(8)], audit=_entry("append"))
            )
        with pytest.raises(RecordNotFound):
            await log.records.write(Delete(kind="thing", id="none"), audit=_entry("delete"))
        assert await _operations(log) == []

    async def test_entries_form_one_chain(self, log: Log) -> None:
        await asyncio.gather(*(log.audit.keep(_entry(f"number {number}")) for number in range(50)))
        head = await verified(log.audit)
        assert isinstance(head, AuditHead)
        assert head.number == 50
        assert head == await log.audit.head()

    async def test_entries_are_listed_by_workspace_session_and_page(self, log: Log) -> None:
        await log.audit.keep(_entry("a", "red", "one"))
        await log.audit.keep(_entry("b", "blue", "two"))
        await log.audit.keep(_entry("c", "red"))
        assert await _operations(log, AuditQuery(workspace="red")) == ["c", "a"]
        assert await _operations(log, AuditQuery(session_id="two")) == ["b"]
        assert await _operations(log, AuditQuery(key_id="key_2")) == []
        assert await _operations(log, AuditQuery(limit=1)) == ["c", "b"]
        assert await _operations(log, AuditQuery(before=2)) == ["a"]

    async def test_charges_add_up_and_outlive_their_session(self, log: Log, store: LogStore) -> None:
        made = await new_session(log)
        for head, usd in ((1, 0.5), (2, 0.25)):
            charges = [Charge("key_1", usd), Charge("key_2", 1.0)]
            await log.append(
                Append(session=made.number, epoch=0, expected=head, at=START, events=[event(head + 1)], charges=charges)
            )
        await log.delete("one")
        await log.close()
        again = await store.open()
        assert await again.spending() == {"key_1": 0.75, "key_2": 2.0}
        await again.close()
