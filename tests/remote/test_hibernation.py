"""Agents on a runner that are ended between turns: their sessions have let them go, and the runner must be done too."""

from pathlib import Path

import anyio
import pytest

from everyagent.agents.adapter import Death
from everyagent.model.runners import Acknowledged
from everyagent.model.sessions import UpdateSession
from everyagent.remote import wire
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from tests.remote.scripted_runner import ScriptedRunner, ended, frames, held, remote_sessions, started
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio
DIED = wire.Died(Death(expected=True))
#: An agent that is idle is ended at once.
IMPATIENT = Limits(idle_timeout=0.0, sweep_every=0.01, close_limit=LIMIT_SECONDS)


def sessions_held(runner: ScriptedRunner) -> int:
    return sum(info.sessions for info in runner.runners.infos())


async def ended_turn(sessions: Sessions, runner: ScriptedRunner) -> int:
    """The epoch of a session with one turn, which has ended. Sequence 5 comes next."""
    epoch = await runner.begin(sessions, "one")
    await runner.send("one", epoch, 3, started(epoch), ended())
    return epoch


async def test_an_idle_agent_is_ended_and_its_conversation_is_over(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path, limits=IMPATIENT) as (sessions, runner):
        epoch = await ended_turn(sessions, runner)
        await runner.command(wire.Close, "one")
        before = (await sessions.get("one")).event_count
        assert await runner.send("one", epoch, 5, frames()) == Acknowledged(sequence=5)
        assert await runner.send("one", epoch, 6, frames(), DIED) == Acknowledged(sequence=7)
        assert sessions_held(runner) == 0
        assert (await runner.send("one", epoch, 6, frames(), DIED)).fenced
        assert (await sessions.get("one")).event_count == before
        runner.commands.clear()
        assert await runner.prompted(sessions, "one") > epoch


async def test_a_change_that_needs_a_restart_ends_the_agent(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path, limits=Limits(close_limit=LIMIT_SECONDS)) as (sessions, runner):
        epoch = await ended_turn(sessions, runner)
        with anyio.fail_after(LIMIT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sessions.update, "one", UpdateSession(model="mock-large"))
                change = await runner.command(wire.ApplyChange, "one")
                await runner.send("one", epoch, 5, wire.Result(change.number, value=False))
        close = await runner.command(wire.Close, "one")
        assert close.action == wire.Close(force=False)
        assert await runner.send("one", epoch, 6, DIED) == Acknowledged(sequence=6)
        assert sessions_held(runner) == 0
        runner.commands.clear()
        assert await runner.prompted(sessions, "one") > epoch


async def test_a_close_that_was_lost_with_the_link_is_sent_again(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path, limits=IMPATIENT) as (sessions, runner):
        epoch = await ended_turn(sessions, runner)
        closed = await runner.command(wire.Close, "one")
        runner.disconnect()
        runner.commands.clear()
        await runner.connect(held("one", epoch, 4, command=2, busy=False))
        assert await runner.command(wire.Close, "one") == closed
        assert await runner.send("one", epoch, 5, DIED) == Acknowledged(sequence=5)
        assert sessions_held(runner) == 0


async def test_what_an_agent_sends_while_the_daemon_stops_is_not_acknowledged(tmp_path: Path) -> None:
    """The session has let it go as well, but the next daemon goes on with it."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch))
        assert (await sessions.get("one")).status == "running"
    async with remote_sessions(tmp_path, before=runner) as (_, again):
        await again.connect(held("one", epoch, 3))
        assert (await again.send("one", epoch, 4, ended())).sequence == 4
