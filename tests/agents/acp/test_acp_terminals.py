"""The end of an agent ends all its terminals."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.acp.terminals import Terminal, Terminals
from everyagent.agents.acp.wire import CreateTerminal
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

pytestmark = pytest.mark.anyio
ENDLESS = CreateTerminal(command="sleep 600")


@pytest.fixture
async def terminals(tmp_path: Path) -> AsyncGenerator[Terminals]:
    reaper = Reaper()
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            yield Terminals(tmp_path, {"PATH": "/usr/bin:/bin"}, TaskSupervisor(tasks), reaper)
            tasks.cancel_scope.cancel()
        await reaper.close()


async def ignored(fault: Exception) -> None:
    del fault


async def test_terminals_end_while_one_is_released(terminals: Terminals, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [await terminals.create(ENDLESS, ignored) for _ in range(3)]
    open_ones, kill = [terminals.get(name) for name in names], Terminal.kill
    releases = iter(names[1:2])

    async def kill_during_a_release(terminal: Terminal) -> None:
        for name in releases:
            await terminals.release(name)
        await kill(terminal)

    monkeypatch.setattr(Terminal, "kill", kill_during_a_release)
    await terminals.close()
    for terminal in open_ones:
        assert (await terminal.wait())["signal"] is not None


async def test_a_command_that_is_just_being_started_ends(terminals: Terminals, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = Process.start, list[Process]()

    async def start_during_the_end(*words: Any, **fields: Any) -> Process:
        started.append(await start(*words, **fields))
        await terminals.close()
        return started[0]

    monkeypatch.setattr(Process, "start", start_during_the_end)
    with pytest.raises(AgentFailed, match="has ended"):
        await terminals.create(ENDLESS, ignored)
    assert started[0].exit is not None
