"""Lost connections, a server that is away, and databases that must be refused."""

import asyncio
import threading
from pathlib import Path
from typing import cast

import pytest
from tests.postgres.proxy import Cut, cutting_proxy
from tests.postgres.server import PostgresServer

from everyagent.clock import SystemClock
from everyagent.errors import StoreUnavailable, Unavailable
from everyagent.log.copy.ends import CopyFailed
from everyagent.log.copy.postgres_ends import PostgresTarget
from everyagent.log.log import Append
from everyagent.log.postgres import PostgresLog, lease, writer
from everyagent.log.postgres.database import Database
from everyagent.log.postgres.migrations import migrate
from everyagent.log.records import Insert
from everyagent.testing.log_rules.samples import (
    LIMIT,
    START,
    event,
    events,
    grow,
    new_session,
    read_until,
    record,
    sequences,
    whole,
)


async def opened(url: str, folder: Path) -> PostgresLog:
    return await PostgresLog.open(url, folder, SystemClock())


def through(url: str, server: PostgresServer, port: int) -> str:
    return url.replace(f":{server.port}/", f":{port}/")


@pytest.mark.parametrize("patient", [False, True])
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_commit_whose_answer_was_lost_takes_effect_once(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path, cut: Cut, patient: bool
):
    async with cutting_proxy(postgres.port) as proxy:
        log = await opened(through(postgres_url, postgres, proxy.port), tmp_path)
        session = await new_session(log)
        tail = log.tail(session.number, 0)
        for head in range(1, 6):
            proxy.cut = cut
            step = Append(session=session.number, epoch=0, expected=head, at=START, events=events(head + 1, head + 1))
            async with asyncio.timeout(LIMIT):
                await log.append(step, patient=patient)
            proxy.cut = cut
            async with asyncio.timeout(LIMIT):
                await log.records.write(Insert(kind="thing", id=f"r{head}", body=b"{}"))
        assert proxy.cuts == 10
        assert sequences(await read_until(tail, 6)) == [1, 2, 3, 4, 5, 6]
        assert sequences(await whole(log, session.number)) == [1, 2, 3, 4, 5, 6]
        assert await log.records.count("thing", "") == 5
        await log.close()


async def test_a_commit_in_doubt_is_left_open_for_callers_that_cannot_wait(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "DOUBT_SECONDS", 0.3)
    async with cutting_proxy(postgres.port) as proxy:
        log = await opened(through(postgres_url, postgres, proxy.port), tmp_path)
        one, two = await new_session(log, "one"), await new_session(log, "two")
        proxy.cut, proxy.closed = "after", True
        hasty = log.append(Append(session=one.number, epoch=0, expected=1, at=START, events=events(2, 2)))
        await asyncio.wait([hasty], timeout=0.05)
        behind = log.append(Append(session=one.number, epoch=0, expected=2, at=START, events=events(3, 3)))
        patient = log.append(
            Append(session=two.number, epoch=0, expected=1, at=START, events=events(2, 2)), patient=True
        )
        async with asyncio.timeout(LIMIT):
            with pytest.raises(Unavailable):
                await hasty
            with pytest.raises(StoreUnavailable):
                await behind
        assert not patient.done()
        proxy.closed = False
        async with asyncio.timeout(LIMIT):
            await patient
        assert sequences(await whole(log, one.number)) == [1, 2]
        assert sequences(await whole(log, two.number)) == [1, 2]
        assert sequences(await read_until(log.tail(one.number, 0), 2)) == [1, 2]
        await log.close()


async def test_connections_cut_while_idle_are_replaced_unseen(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
):
    log = await opened(postgres_url, tmp_path)
    session = await new_session(log)
    for head in range(1, 4):
        assert (await log.session("one")).last_sequence == head
        schema = postgres_url.rsplit("%3D", 1)[1]
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            f"WHERE pid <> pg_backend_pid() AND application_name LIKE 'everyagent %' AND '{schema}' <> ''"
        )
        assert await grow(log, session, head, 1) == head + 1
    assert sequences(await whole(log, session.number)) == [1, 2, 3, 4]
    await log.close()


async def test_a_store_that_is_away_refuses_effects_and_keeps_what_is_patient(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
):
    async with cutting_proxy(postgres.port) as proxy:
        log = await opened(through(postgres_url, postgres, proxy.port), tmp_path)
        session = await new_session(log)
        tail = log.tail(session.number, 1)
        following = asyncio.ensure_future(read_until(tail, 21))
        await asyncio.wait([following], timeout=0.05)
        proxy.closed = True
        proxy.drop()
        steps = [
            Append(session=session.number, epoch=0, expected=head, at=START, events=events(head + 1, head + 1))
            for head in range(1, 21)
        ]
        waiting = [log.append(step, patient=True) for step in steps]
        async with asyncio.timeout(LIMIT):
            with pytest.raises(StoreUnavailable, match="Nothing was written"):
                await log.create(record("two"), [event(1)])
            with pytest.raises(Unavailable):
                await log.session("one")
        assert not any(each.done() for each in waiting)
        proxy.closed = False
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*waiting)
        assert sequences(await following) == list(range(2, 22))
        await log.create(record("two"), [event(1)])
        await log.close()


async def test_the_server_is_killed_and_started_again_and_nothing_acknowledged_is_lost(tmp_path: Path):
    server = PostgresServer(durable=True)
    server.start()
    try:
        log = await opened(server.new_schema(), tmp_path)
        session = await new_session(log)
        head = 1
        for _ in range(2):
            head = await grow(log, session, head, 200)
            flood = [
                log.append(
                    Append(session=session.number, epoch=0, expected=at, at=START, events=events(at + 1, at + 1)),
                    patient=True,
                )
                for at in range(head, head + 50)
            ]
            await flood[0]
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*flood)
            head += 50
        assert sequences(await whole(log, session.number)) == list(range(1, head + 1))
        await log.close()
    finally:
        server.close()


async def test_a_second_daemon_is_refused(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lease, "LOCK_SECONDS", 1)
    log = await opened(postgres_url, tmp_path)
    with pytest.raises(StoreUnavailable, match="in use by another everyagent"):
        await opened(postgres_url, tmp_path)
    await log.close()
    await (await opened(postgres_url, tmp_path)).close()


async def test_a_refused_daemon_and_a_refused_copy_change_nothing(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lease, "LOCK_SECONDS", 1)
    holder = await opened(postgres_url, tmp_path)
    await new_session(holder)
    older = as_of_an_older_version(postgres, postgres_url)
    with pytest.raises(StoreUnavailable, match="in use by another everyagent"):
        await opened(postgres_url, tmp_path)
    with pytest.raises(StoreUnavailable, match="in use by another everyagent"):
        PostgresTarget(postgres_url)
    assert version_of(postgres, postgres_url) == older
    await holder.close()
    with pytest.raises(CopyFailed, match="is not empty"):
        PostgresTarget(postgres_url)
    assert version_of(postgres, postgres_url) == older


async def test_a_copy_that_was_not_finished_is_refused_before_the_migrations(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
):
    await (await opened(postgres_url, tmp_path)).close()
    older = as_of_an_older_version(postgres, postgres_url)
    postgres.execute("CREATE TABLE copied (session bigint)", postgres_url)
    with pytest.raises(StoreUnavailable, match="begun and not finished"):
        await opened(postgres_url, tmp_path)
    assert version_of(postgres, postgres_url) == older


def as_of_an_older_version(postgres: PostgresServer, url: str) -> int:
    """The migrations would run again. Returns the version."""
    postgres.execute("UPDATE everyagent_schema SET version = version - 1", url)
    return version_of(postgres, url)


def version_of(postgres: PostgresServer, url: str) -> int:
    return cast("int", postgres.execute("SELECT version FROM everyagent_schema", url)[0][0])


def test_daemons_that_start_at_once_migrate_once(postgres: PostgresServer, postgres_url: str):
    failures: list[BaseException] = []

    def run() -> None:
        try:
            connection = Database(postgres_url).connect()
            migrate(connection, "here")
            connection.close()
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert postgres.execute("SELECT count(*) FROM everyagent_schema", postgres_url) == [(1,)]


async def test_a_newer_schema_is_refused_with_both_versions(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
):
    await (await opened(postgres_url, tmp_path)).close()
    postgres.execute("UPDATE everyagent_schema SET version = 99", postgres_url)
    with pytest.raises(StoreUnavailable, match=r"its version is 99, this program knows \d+"):
        await opened(postgres_url, tmp_path)


async def test_an_address_that_does_not_answer_is_named_without_its_password(tmp_path: Path):
    with pytest.raises(StoreUnavailable) as caught:
        await opened("postgresql://me:hidden@127.0.0.1:1/there", tmp_path)
    assert "postgresql://me@127.0.0.1:1/there" in str(caught.value)
    assert "hidden" not in str(caught.value)
    with pytest.raises(StoreUnavailable, match="not one that PostgreSQL understands"):
        await opened("postgresql://[half", tmp_path)


def test_every_connection_waits_for_the_disk_at_a_commit(postgres: PostgresServer, postgres_url: str):
    assert postgres.execute("SHOW synchronous_commit", postgres_url) == [("off",)]
    connection = Database(postgres_url).connect()
    assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    connection.close()
