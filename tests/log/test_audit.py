"""The audit trail in SQLite: what somebody changes in the database is found; old data comes into `default`."""

from pathlib import Path

import apsw
import pytest

from everyagent.clock import SystemClock
from everyagent.log.audit import AuditEntry, AuditFault, AuditHead, verified
from everyagent.log.records import Insert
from everyagent.log.sqlite import SqliteLog, migrations
from everyagent.testing.log_rules.samples import START


async def _open(folder: Path) -> SqliteLog:
    return await SqliteLog.open(folder, SystemClock())


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("UPDATE audit SET entry = replace(entry, 'Ada', 'Eve') WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 5", 5),
        ("DELETE FROM audit", 1),
        ("UPDATE audit SET number = 9 WHERE number = 2; UPDATE audit SET number = 2 WHERE number = 3; "
         "UPDATE audit SET number = 3 WHERE number = 9", 2),
        ("INSERT INTO audit (number, entry, digest) SELECT 6, entry, digest FROM audit WHERE number = 5; "
         "UPDATE audit_head SET number = 6", 6),
        ("UPDATE audit SET digest = zeroblob(32) WHERE number = 4", 4),
    ],
    ids=["changed", "removed", "last removed", "all removed", "reordered", "repeated", "digest changed"],
)  # fmt: skip
async def test_tampering_with_the_audit_trail_is_found(tmp_path: Path, tampering: str, found: int) -> None:
    log = await _open(tmp_path)
    for number in range(5):
        await log.audit.keep(
            AuditEntry(at=START, key_id="key_1", name="Ada", workspace="red", operation=f"number {number}")
        )
    assert await verified(log.audit) == await log.audit.head()
    await log.close()
    connection = apsw.Connection(str(tmp_path / "everyagent.db"))
    connection.execute(tampering)
    connection.close()
    again = await _open(tmp_path)
    fault = await verified(again.audit)
    await again.close()
    assert isinstance(fault, AuditFault)
    assert fault.number == found


async def test_data_of_older_versions_is_in_the_default_workspace(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "everyagent.db"))
    scripts = sorted(Path(migrations.__file__).parent.glob("*.sql"))[:3]
    for script in scripts:
        connection.execute(script.read_text())
    connection.execute("PRAGMA user_version = 3")
    insert = "INSERT INTO records VALUES (?, 'thing', ?, '', 'name', 1, 5, 6, NULL, x'7b7d', NULL)"
    connection.execute(insert, (7, "old"))
    connection.execute("INSERT INTO blobs VALUES (-7, zeroblob(32))")
    connection.execute("UPDATE sqlite_sequence SET seq = 40 WHERE name = 'records'")
    connection.close()
    log = await _open(tmp_path)
    old = await log.records.find("thing", "old")
    assert (old.number, old.key, old.created_at, old.workspace) == (7, "name", 5, "default")
    (new,) = await log.records.write(Insert(kind="thing", id="new", body=b"{}"))
    assert new.number == 41
    assert await verified(log.audit) == AuditHead(0, bytes(32))
    await log.close()
