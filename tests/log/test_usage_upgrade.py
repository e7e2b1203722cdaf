"""A log from before usage was counted: its sessions count as a whole, on the day of their last event."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from everyagent.clock import SystemClock
from everyagent.log.log import Log
from everyagent.log.postgres import migrations as postgres_migrations
from everyagent.log.postgres.log import PostgresLog
from everyagent.log.sqlite import SqliteLog
from everyagent.log.sqlite import migrations as sqlite_migrations
from everyagent.log.usage import UsageQuery, UsageRow, day_of
from everyagent.model.usage import Usage
from everyagent.testing.log_rules.samples import START, event, record

_BEFORE = 6
_USED = Usage(input_tokens=100, cache_read_tokens=7)


async def _fill(log: Log) -> None:
    base = replace(record("used"), model="m", usage=_USED, cost_usd=0.25, last_at=START)
    await log.create(base, [event(1)])
    await log.create(replace(base, session_id="unused", usage=Usage(), cost_usd=0.0), [event(1)])
    await log.close()


async def _check(log: Log) -> None:
    found = await log.usage(UsageQuery(by=["session", "day", "model"]))
    fields: dict[str, object] = {"session": "used", "day": day_of(START), "model": "m"}
    assert found == [UsageRow(fields, None, 1, 0, _USED, 250_000_000, 0)]  # pyright: ignore[reportArgumentType]
    await log.close()


async def test_a_sqlite_log_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        scripts = sqlite_migrations._scripts()[:_BEFORE]
        patch.setattr(sqlite_migrations, "_scripts", lambda: scripts)
        await _fill(await SqliteLog.open(tmp_path, SystemClock()))
    await _check(await SqliteLog.open(tmp_path, SystemClock()))


async def test_a_postgresql_log_is_upgraded(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        scripts = postgres_migrations._scripts()[:_BEFORE]
        patch.setattr(postgres_migrations, "_scripts", lambda: scripts)
        await _fill(await PostgresLog.open(postgres_url, tmp_path, SystemClock()))
    await _check(await PostgresLog.open(postgres_url, tmp_path, SystemClock()))
