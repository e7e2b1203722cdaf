"""Partitions, deletion, text that PostgreSQL does not take, and a search with SQLite's answers."""

import asyncio
from pathlib import Path

import pytest
from tests.postgres.server import PostgresServer
from tests.waiting import wait_until

from everyagent.clock import SystemClock
from everyagent.log.log import Append, Log, SessionChanges
from everyagent.log.postgres import PostgresLog, partitions
from everyagent.log.sqlite import SqliteLog
from everyagent.testing.log_rules.samples import START, event, grow, new_session, record, sequences, whole

TEXTS = (
    "The quick brown fox",
    "foo-bar foo_bar foo.bar foobar",
    "ÄPFEL für alle, ΟΔΟΣ und Straße",
    "cafe\u0301 and café; naïve façade",
    "x=1; y=3.14; 0xFF; ½ ² Ⅳ",
    "日本語のテキスト 한국어 русский текст",
    "path/to/file.py:12 def main(): return None",
    "emoji 🎉 and\ttabs\nlines",
    "it's a 'quoted' \"string\" with \\ and & | ! <-> :*",
    "nul\0inside lone\ud800surrogate",
)
#: One on each line, so that commas and quotes are plain.
QUERIES = """\
quick
QUI
foo-bar
foo
bar
foo_bar
foo.b
äpfel
apfel
οδος
οδοσ
strasse
straße
cafe
café
cafe\u0301
naive
facade
3.14
14
0xff
½
日本
日本語
한국
한국어
русск
текст
file.py
py:12
main():
🎉
tabs lines
lines tabs
it's
quoted string
'
&
a & b
<->
inside
nul inside
surrogate

fox the
brown fo
1
return none""".splitlines()


async def fill(log: Log) -> None:
    for number, text in enumerate(TEXTS):
        session = await new_session(log, f"s{number}")
        step = Append(session=session.number, epoch=0, expected=1, at=START, events=[event(2, text=text)])
        await log.append(step)


async def test_the_search_has_the_answers_of_sqlite(postgres_url: str, tmp_path: Path):
    logs = (
        await SqliteLog.open(tmp_path / "sqlite", SystemClock()),
        await PostgresLog.open(postgres_url, tmp_path / "postgres", SystemClock()),
    )
    for log in logs:
        await fill(log)
    for query in QUERIES:
        found = [{hit.session_id for hit in await log.search(query, None, 100)} for log in logs]
        assert found[0] == found[1], query
    for log in logs:
        await log.close()


async def test_the_best_match_comes_first_with_a_piece_of_its_text(postgres_url: str, tmp_path: Path):
    log = await PostgresLog.open(postgres_url, tmp_path, SystemClock())
    long = " ".join(f"word{number}" for number in range(200))
    for name, text in (("long", f"{long} needle {long}"), ("short", "a needle here")):
        session = await new_session(log, name)
        step = Append(session=session.number, epoch=0, expected=1, at=START, events=[event(2, text=text)])
        await log.append(step)
    first, second = await log.search("need", None, 10)
    assert (first.session_id, first.snippet) == ("short", "a needle here")
    assert "needle" in second.snippet
    assert (second.snippet[0], second.snippet[-1], len(second.snippet.split())) == ("…", "…", 24)
    await log.close()


async def test_text_that_postgresql_cannot_hold_is_replaced_in_columns_and_kept_in_bodies(
    postgres_url: str, tmp_path: Path
):
    log = await PostgresLog.open(postgres_url, tmp_path, SystemClock())
    session = await new_session(log)
    changes = SessionChanges(title="a\0b\ud800c", metadata={"k": "v\0"})
    await log.append(Append(session=session.number, epoch=0, expected=1, at=START, changes=changes))
    found = await log.session("one")
    assert (found.title, found.metadata) == ("a\ufffdb?c", {"k": "v\0"})
    await log.close()


async def test_partitions_are_made_ahead_and_dropped_with_their_last_session(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(partitions, "SESSIONS", 4)
    schema = postgres_url.rsplit("%3D", 1)[1]

    def made() -> set[str]:
        rows = postgres.execute(
            f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' AND tablename LIKE 'events\\__%'"
        )
        return {str(name) for (name,) in rows}

    log = await PostgresLog.open(postgres_url, tmp_path, SystemClock())
    sessions = [await log.create(record(f"s{number}"), [event(1)]) for number in range(10)]
    for session in sessions:
        await grow(log, session, 1, 40)
    assert {"events_s0", "events_s1", "events_s2", "events_s3", "events_p3"} <= made()
    for session in sessions:
        if session.number < 4:
            await log.delete(session.session_id)
    await asyncio.to_thread(wait_until, lambda: "events_s0" not in made())
    await log.delete(sessions[5].session_id)
    await asyncio.to_thread(wait_until, lambda: postgres.execute("SELECT count(*) FROM debris", postgres_url) == [(0,)])
    assert "events_s1" in made()
    assert sequences(await whole(log, sessions[4].number)) == list(range(1, 42))
    low, high = sessions[5].number << 32, (sessions[5].number + 1) << 32
    count = f"SELECT count(*) FROM events WHERE key > {low} AND key < {high}"
    assert postgres.execute(count, postgres_url) == [(0,)]
    await log.close()
