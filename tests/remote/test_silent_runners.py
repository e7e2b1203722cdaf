"""Runners that hang: their machine keeps the connection, but they send nothing."""

import time
from pathlib import Path
from typing import cast

import anyio
import pytest

from everyagent.errors import SignatureInvalid, Unavailable
from everyagent.model.runners import Acknowledged, Mark
from everyagent.remote import wire
from everyagent.remote.conversation import RunnerListener
from tests.remote.scripted_runner import delta, held, remote_sessions, started
from tests.remote.test_remote_sessions import turn_end

pytestmark = pytest.mark.anyio


async def test_a_silent_runner_is_disconnected_and_given_up_after_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with remote_sessions(tmp_path, lease=0.05) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch))
        monkeypatch.setattr(wire, "SILENCE_SECONDS", 0.05)
        await runner.ping(1)
        assert "was not connected for" in str((await turn_end(sessions, "one"))["error"])
        assert not any(info.connected for info in runner.runners.infos())
        before = (await sessions.get("one")).event_count
        assert (await runner.send("one", epoch, 4, delta(epoch, "late "))).fenced
        assert (await sessions.get("one")).event_count == before


async def test_pings_and_new_entries_keep_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.ping(1)
        monkeypatch.setattr(wire, "SILENCE_SECONDS", 0.0)
        await runner.send("one", epoch, 2)  # nothing new
        await anyio.wait_all_tasks_blocked()
        await anyio.sleep(0)
        assert any(info.connected for info in runner.runners.infos())
        await runner.send("one", epoch, 3, started(epoch))  # the connection is watched anew from here on
        while any(info.connected for info in runner.runners.infos()):
            await anyio.sleep(0.005)


async def test_a_ping_counts_once_and_for_its_connection_only(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (_, runner):
        await runner.ping(1)
        with pytest.raises(SignatureInvalid):
            await runner.ping(1)
        await runner.ping(2)
        assert runner.connection
        earlier = runner.connection.id
        await runner.connect()
        with pytest.raises(SignatureInvalid):
            await runner.ping(3, earlier)
        await runner.ping(1)


async def test_a_conversation_that_is_taken_up_late_ends_no_other(tmp_path: Path) -> None:
    """Its runner is connected already: it connects again, and the lease ends nothing meanwhile."""
    async with remote_sessions(tmp_path, lease=0.05) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        assert runner.connection
        before = runner.connection
        listener = cast("RunnerListener", None)
        runner.runners.attach(before.key.runner, "late", Mark(epoch=1, sequence=4), listener)
        assert not before.open
        await runner.connect(held("one", epoch, 2), held("late", 1, 4))
        await anyio.sleep(0.2)
        assert (await runner.send("one", epoch, 3, started(epoch))) == Acknowledged(sequence=3)
        assert (await sessions.get("one")).status == "running"


async def test_a_known_key_is_valid_while_the_database_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with remote_sessions(tmp_path) as (_, runner):
        later = time.monotonic() + 3600

        async def away(*_: object) -> None:
            raise Unavailable("The database is away.")

        monkeypatch.setattr(runner.runners.keys, "_clock", lambda: later)
        monkeypatch.setattr(runner.runners.keys._records, "find", away)
        await runner.ping(1)
        with pytest.raises(Unavailable):
            await runner.runners.keys.find("rkey_unknown")
