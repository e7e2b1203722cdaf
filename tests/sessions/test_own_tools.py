"""Calls of tools that the daemon itself runs."""

import asyncio
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from everyagent.clock import Clock
from everyagent.log.log import Log
from everyagent.sessions.actor import Actor
from everyagent.sessions.launch.agents import Agents
from everyagent.sessions.launch.launcher import Launcher
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.projection import Projections
from everyagent.sessions.supervisor import Supervisor
from tests.sessions.test_machine import started_session

_PARTS = SimpleNamespace(launch_for=None, masker_of=None, seal_input=None)


@pytest.mark.anyio
async def test_a_call_fails_when_the_daemon_stops() -> None:
    called, session = asyncio.Event(), started_session()

    async def run_tool(*_: object) -> None:
        called.set()
        await asyncio.Event().wait()

    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(
            log=cast("Log", _PARTS),
            agents=cast("Agents", _PARTS),
            launcher=cast("Launcher", _PARTS),
            tasks=tasks,
            clock=cast("Clock", _PARTS),
            limits=Limits(),
            projections=cast("Projections", SimpleNamespace(run_tool=run_tool)),
        )
        actor = cast("Actor", SimpleNamespace(machine=session.machine, record=session.state.record))
        running = asyncio.ensure_future(supervisor.run_own_tool(actor, "tool", None))
        await called.wait()
        assert session.state.awaited is None, "a turn that waits for it is not silent"
        await supervisor.close()
        answer = await running
        assert answer.is_error
        assert session.state.awaited is session.state.turn
        tasks.cancel_scope.cancel()
