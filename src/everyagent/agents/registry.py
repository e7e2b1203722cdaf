"""The list of adapters. An adapter's code is loaded at its first use; its state can be asked for before that."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup

from everyagent.agents.adapter import Adapter, AgentState
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.lazy_adapter import LazyAdapter
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.agents import OwnAgent
from everyagent.runtime.reaper import Reaper

#: The agents that the ACP adapter has profiles for, which are loaded at their first use.
ACP_AGENTS = {
    "copilot": "GitHub Copilot CLI",
    "gemini": "Gemini CLI",
    "qwen": "Qwen Code",
    "kimi": "Kimi Code",
    "goose": "Goose",
    "pi": "pi",
    "vibe": "Mistral Vibe",
    "cline": "Cline",
    "auggie": "Auggie",
    "droid": "Droid",
}
KNOWN_AGENTS = frozenset({"mock", "claude", "codex", "opencode", "amp", *ACP_AGENTS})


def own_adapters(
    own: Mapping[str, OwnAgent], tasks: TaskGroup, folder: Path, reaper: Reaper | None = None
) -> Sequence[Adapter]:
    """One adapter for each agent of the user's own. Their names must differ from those of known agents."""
    around = AdapterContext(TaskSupervisor(tasks), folder, reaper=reaper)

    def load(name: str) -> Adapter:
        from everyagent.agents.acp import own as profiles
        from everyagent.agents.acp.adapter import AcpAdapter

        return AcpAdapter(profiles.profile_of(name, own[name]), around)

    async def state_of(name: str) -> AgentState:
        from everyagent.agents.acp import own as profiles
        from everyagent.agents.acp.program import OwnProgram

        return await OwnProgram(profiles.profile_of(name, own[name]), os.environ).state()

    return [LazyAdapter(name, agent.title or name, partial(load, name), state_of) for name, agent in own.items()]


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

    def acp(name: str) -> Adapter:
        from everyagent.agents.acp import profiles
        from everyagent.agents.acp.adapter import AcpAdapter

        return AcpAdapter(profiles.load(name), around)

    async def state_of(agent: str) -> AgentState:
        return await _state(agent, folder)

    return [
        LazyAdapter("mock", "Mock agent", mock, state_of),
        LazyAdapter("claude", "Claude Code", claude, state_of),
        LazyAdapter("codex", "Codex", codex, state_of),
        LazyAdapter("opencode", "OpenCode", opencode, state_of),
        LazyAdapter("amp", "Amp", amp, state_of),
        *(LazyAdapter(name, title, partial(acp, name), state_of) for name, title in ACP_AGENTS.items()),
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
        case _ if agent in ACP_AGENTS:
            from everyagent.agents.acp import profiles, program

            profile = profiles.load(agent)
            return await program.state_of(profile, program.program_of(profile, folder, os.environ))
        case _:
            from everyagent.agents.mock.launch import state

            return state()
    return await InstalledProgram(IDENTITY, folder, os.environ).state()
