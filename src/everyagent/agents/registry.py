"""The list of adapters. An adapter's code is loaded at its first use; its state can be asked for before that."""

import os
from collections.abc import Sequence
from pathlib import Path

from anyio.abc import TaskGroup

from everyagent.agents.adapter import Adapter, AgentState
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.lazy_adapter import LazyAdapter
from everyagent.agents.supervision import TaskSupervisor
from everyagent.runtime.reaper import Reaper


def known_adapters(tasks: TaskGroup, folder: Path, reaper: Reaper | None = None) -> Sequence[Adapter]:
    """One adapter for each agent. Their tasks run supervised in `tasks`; agents are installed in `folder`."""

    supervisor = TaskSupervisor(tasks)
    around = AdapterContext(supervisor, folder, reaper=reaper)

    def mock() -> Adapter:
        from everyagent.agents.mock.adapter import MockAdapter

        return MockAdapter(supervisor, reaper)

    def claude() -> Adapter:
        from everyagent.agents.claude.adapter import ClaudeAdapter

        return ClaudeAdapter(around)

    def codex() -> Adapter:
        from everyagent.agents.codex.adapter import CodexAdapter

        return CodexAdapter(around)

    def opencode() -> Adapter:
        from everyagent.agents.opencode.adapter import OpencodeAdapter

        return OpencodeAdapter(around)

    def amp() -> Adapter:
        from everyagent.agents.amp.adapter import AmpAdapter

        return AmpAdapter(around)

    async def state_of(agent: str) -> AgentState:
        return await _state(agent, folder)

    return [
        LazyAdapter("mock", "Mock agent", mock, state_of),
        LazyAdapter("claude", "Claude Code", claude, state_of),
        LazyAdapter("codex", "Codex", codex, state_of),
        LazyAdapter("opencode", "OpenCode", opencode, state_of),
        LazyAdapter("amp", "Amp", amp, state_of),
    ]


async def _state(agent: str, folder: Path) -> AgentState:
    """An agent's state without loading its adapter, which is slow because of its many wire types."""
    from everyagent.agents.installed import InstalledProgram

    match agent:
        case "claude":
            from everyagent.agents.claude.program import IDENTITY
        case "codex":
            from everyagent.agents.codex.program import IDENTITY
        case "opencode":
            from everyagent.agents.opencode.program import IDENTITY
        case "amp":
            from everyagent.agents.amp.program import IDENTITY
        case _:
            from everyagent.agents.mock.launch import state

            return state()
    return await InstalledProgram(IDENTITY, folder, os.environ).state()
