"""A commit or a recovery that fails: the session is loaded again, its turn ends once, the next message works."""

import shutil
from asyncio import Future
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import apsw
import httpx2
import pytest

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import StorageFull, Unavailable
from everyagent.log.log import Append
from everyagent.log.sqlite.log import SqliteLog
from everyagent.model.events import Envelope, Error, EventData, TurnEnded, TurnStarted
from everyagent.model.sessions import CreateSession
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.session_mask import SessionMask
from everyagent.sessions.session_context import SessionContext
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.rules import check
from tests.log.faulty_disk import FaultyDisk

from .conftest import LIMIT_SECONDS, Talk

pytestmark = pytest.mark.anyio

LIMITS = Limits(retry_delay=0.01, sweep_every=0.05, reload_delay=0.02, reload_delay_most=0.1)
SLOW = "words [slow seconds=60]"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyDisk]:
    """The disk of every log that the test opens."""
    disk = FaultyDisk()
    monkeypatch.setattr(SqliteLog, "open", partial(SqliteLog.open, vfs=disk.name))
    yield disk
    disk.unregister()


@asynccontextmanager
async def daemon(folder: Path) -> AsyncGenerator[Sessions]:
    async with sessions_of(Settings(data_dir=folder / "data", default_agent="mock"), limits=LIMITS) as sessions:
        yield sessions


async def new_talk(sessions: Sessions, folder: Path) -> Talk:
    made = await sessions.create(None, CreateSession(agent="mock", directory=str(folder)))
    return Talk(sessions, made.session_id)


async def until_it_works(call: Callable[[], Awaitable[object]]) -> None:
    """A client that tries again while the log cannot be written."""
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            try:
                await call()
            except (Unavailable, StorageFull):
                await anyio.sleep(0.02)
            else:
                return


async def check_it_goes_on(talk: Talk, turns: list[str]) -> list[Envelope[EventData]]:
    """The next message works, and the whole log keeps the rules."""
    await talk.at_rest()
    await talk.say("hello again")
    events = await talk.events()
    assert check(events, include_raw=True) == []
    assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == [*turns, "end_turn"]
    assert len([event for event in events if isinstance(event.data, TurnStarted)]) == len(turns) + 1
    return events


def errors(events: list[Envelope[EventData]], name: str) -> list[Error]:
    data = [event.data for event in events if isinstance(event.data, Error)]
    return [error for error in data if isinstance(error.details, dict) and error.details.get(name)]


async def test_a_foreign_transaction_outlasts_the_busy_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteLog, "open", partial(SqliteLog.open, busy_seconds=0.05))
    async with daemon(tmp_path) as sessions:
        talk = await new_talk(sessions, tmp_path)
        await talk.send(SLOW)
        await talk.until(lambda info: info.event_count > 10)
        waiting = await talk.send("after the failure")
        foreign = apsw.Connection(str(tmp_path / "data" / "everyagent.db"))
        foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            await talk.send("while it is locked")
        foreign.execute("ROLLBACK")
        events = await check_it_goes_on(talk, ["error", "end_turn"])
        (error,) = errors(events, "commit_failed")
        assert error.code == "internal"
        assert "could not be written" in error.message
        taken = [event.data.input_item_ids for event in events if isinstance(event.data, TurnStarted)]
        assert taken[1] == [waiting]
        foreign.close()


@pytest.mark.parametrize("cancels", [True, False])
async def test_an_io_error_in_a_turn(tmp_path: Path, disk: FaultyDisk, cancels: bool) -> None:
    async with daemon(tmp_path) as sessions:
        talk = await new_talk(sessions, tmp_path)
        await talk.say("hello")
        await talk.send(SLOW)
        await talk.until(lambda info: info.event_count > 20)

        def broken(_operation: str) -> None:
            raise apsw.IOError("the disk is broken")

        disk.fault = broken
        with pytest.raises(Unavailable):
            await talk.send("not taken")
        if cancels:
            with pytest.raises(Unavailable):
                await sessions.cancel(talk.id)
        disk.fault = lambda _: None
        if cancels:
            await until_it_works(partial(sessions.cancel, talk.id))
        events = await check_it_goes_on(talk, ["end_turn", "error"])
        assert len(errors(events, "commit_failed")) == 1
        assert b"not taken" not in b"".join(await talk.bodies())


async def test_an_io_error_as_a_message_begins_its_turn(tmp_path: Path, disk: FaultyDisk) -> None:
    async with daemon(tmp_path) as sessions:
        talk = await new_talk(sessions, tmp_path)
        await talk.say("hello")

        def broken(_operation: str) -> None:
            raise apsw.IOError("the disk is broken")

        disk.fault = broken
        with pytest.raises(Unavailable):
            await talk.send("not taken")
        disk.fault = lambda _: None
        events = await check_it_goes_on(talk, ["end_turn"])
        assert len(errors(events, "commit_failed")) <= 1


@pytest.mark.parametrize("number", [0, 3], ids=("of a message", "of what the agent sent"))
async def test_a_commit_that_was_cancelled_is_one_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Nothing that depends on it leaves, because it may not be in the log."""
    async with daemon(tmp_path) as sessions:
        talk = await new_talk(sessions, tmp_path)
        await talk.say("hello")
        commits, append = list[Append](), SessionContext.append

        def cancelled(self: SessionContext, batch: Append, decision: Decision, mask: SessionMask) -> Future[None]:
            commits.append(batch)
            if len(commits) != number + 1:
                return append(self, batch, decision, mask)
            (done := Future[None]()).cancel()
            return done

        monkeypatch.setattr(SessionContext, "append", cancelled)
        if number:
            await talk.send(SLOW)
        else:
            with pytest.raises(Unavailable):
                await talk.send("not taken")
        await talk.at_rest()
        events = await check_it_goes_on(talk, ["end_turn", "error"] if number else ["end_turn"])
        assert len(errors(events, "commit_failed")) == 1
        assert b"not taken" not in b"".join(await talk.bodies())


async def test_a_message_refused_by_a_full_disk_changes_nothing(tmp_path: Path, disk: FaultyDisk) -> None:
    async with daemon(tmp_path) as sessions:
        talk = await new_talk(sessions, tmp_path)
        await talk.say("hello")
        before = await talk.info()

        def full(_operation: str) -> None:
            raise apsw.FullError("no room")

        disk.fault = full
        for _ in range(3):
            with pytest.raises(StorageFull):
                await talk.send("not taken")
        disk.fault = lambda _: None
        await until_it_works(partial(talk.send, "taken"))
        await talk.at_rest()
        after = await talk.info()
        assert (after.native_session_id, after.status) == (before.native_session_id, "idle"), "the agent was kept"
        events = await check_it_goes_on(talk, ["end_turn", "end_turn"])
        assert not errors(events, "commit_failed")


async def test_a_start_on_a_full_disk_after_kill_9_recovers_once_there_is_room(
    tmp_path: Path, disk: FaultyDisk
) -> None:
    killed = DaemonProcess(tmp_path / "killed", "--default-agent", "mock")
    killed.start()
    async with daemon_client(killed) as client:
        made = await client.post("/v1/sessions/one", json={"directory": str(tmp_path)})
        assert made.status_code == 200, made.text
        await client.post("/v1/sessions/one/messages", json={"message": SLOW})
        await client.post("/v1/sessions/one/messages", json={"message": "it waits"})
        with anyio.fail_after(LIMIT_SECONDS):
            while (await client.get("/v1/sessions/one")).json()["eventCount"] < 10:
                await anyio.sleep(0.02)
    killed.kill()
    shutil.copytree(killed.data_dir, tmp_path / "data")
    full = True

    def no_room(operation: str) -> None:
        if full and operation == "write":
            raise apsw.FullError("no room")

    opened = SqliteLog.open

    async def open_then_full(*args: object, **options: object) -> SqliteLog:
        log = await opened(*args, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]
        disk.fault = no_room
        return log

    SqliteLog.open = open_then_full  # pyright: ignore[reportAttributeAccessIssue]
    async with daemon(tmp_path) as sessions:
        talk = Talk(sessions, "one")
        assert (await talk.info()).status == "running", "nothing can be written yet"
        with pytest.raises(StorageFull):
            await talk.send("while it is full")
        full = False
        events = await check_it_goes_on(talk, ["error", "end_turn"])
        assert len(errors(events, "daemon_restarted")) == 1


@asynccontextmanager
async def daemon_client(process: DaemonProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=process.url, headers=process.headers, timeout=30) as client:
        yield client
