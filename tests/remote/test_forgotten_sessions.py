"""Runners get the names of sessions that have ended, so that they keep nothing of them."""

from pathlib import Path

import anyio
import pytest

from everyagent.agents.adapter import Death
from everyagent.model.sessions import CreateSession
from everyagent.remote import wire
from tests.remote.scripted_runner import ScriptedRunner, ended, remote_sessions, started
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


async def until_forgotten(runner: ScriptedRunner, sessions: list[str]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while sorted(runner.forgotten) != sessions:
            await anyio.sleep(0.005)


async def test_the_end_of_a_session_reaches_its_runner(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch), ended())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sessions.terminate, "one")
            await runner.command(wire.Close, "one")
            assert runner.forgotten == []
            await runner.send("one", epoch, 5, wire.Died(Death(expected=True)))
        await until_forgotten(runner, ["one"])


async def test_a_runner_that_was_away_forgets_what_has_ended(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        for name in ("deleted", "ended", "open"):
            await sessions.create(name, CreateSession(agent="mock", runner="far"))
        await sessions.create("local", CreateSession(agent="mock"))
        runner.disconnect()
        await sessions.terminate("ended")
        await sessions.delete("deleted")
        await runner.connect(scratch=["deleted", "ended", "local", "open"])
        await until_forgotten(runner, ["deleted", "ended", "local"])
