"""The registry of agents, which lists them before their adapters are loaded."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from everyagent.agents.acp import profiles
from everyagent.agents.lazy_adapter import LazyAdapter
from everyagent.agents.registry import ACP_AGENTS, KNOWN_AGENTS, known_adapters

#: Prints the loaded modules of the agents' folders after all states are read.
LISTING = """
import sys, anyio
from pathlib import Path
from everyagent.agents.registry import known_adapters
from everyagent.sessions.launch.agents import Agents

async def main():
    async with anyio.create_task_group() as tasks:
        agents = Agents(known_adapters(tasks, Path(sys.argv[1])))
        assert list(await agents.states()) == agents.names()
        await agents.close()

anyio.run(main)
print(*(name for name in sys.modules if name.startswith("everyagent.agents.") and name.count(".") > 2))
"""
#: Starts a daemon with so many agents of the user's own. Prints the package's modules that are loaded when it serves,
#: then those that are loaded when it has found its agents, and the number of these.
STARTING = """
import sys, anyio
from pathlib import Path
from everyagent.config import Settings
from everyagent.daemon import run
from everyagent.model.agents import OwnAgent

def loaded(*_):
    print(*(name for name in sys.modules if name.startswith("everyagent.")))

async def main():
    own = {f"own-{number}": OwnAgent(command=["no-such-program"]) for number in range(int(sys.argv[2]))}
    settings = Settings(data_dir=Path(sys.argv[1]), port=0, token="a-token-for-tests", default_agent="mock", agents=own)
    async with anyio.create_task_group() as tasks:
        def found(states, isolation):
            loaded()
            print(len(states))
            tasks.cancel_scope.cancel()

        await run(settings, ready=loaded, found=found)

anyio.run(main)
"""


def executable(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho 1.2.3\n")
    path.chmod(0o755)


def test_agents_are_listed_without_loading_their_adapters(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LISTING, str(tmp_path)], capture_output=True, text=True, check=True)
    light = {f"everyagent.agents.{agent}.program" for agent in ("claude", "codex", "opencode", "amp")}
    acp = {f"everyagent.agents.acp.{name}" for name in ("profile", "profiles", "program")}
    acp |= {f"everyagent.agents.acp.profiles.{agent}" for agent in ACP_AGENTS}
    assert set(done.stdout.split()) == {*light, *acp, "everyagent.agents.mock.launch"}


def started(folder: Path, own_agents: int) -> tuple[set[str], set[str], int]:
    words = [sys.executable, "-c", STARTING, str(folder), str(own_agents)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(folder)})
    serving, at_rest, agents = done.stdout.splitlines()
    return set(serving.split()), set(at_rest.split()), int(agents)


def test_a_daemon_starts_without_loading_anything_of_an_agent(tmp_path: Path) -> None:
    """Neither its start nor its memory at rest grow with the number of agents that it knows."""
    serving, at_rest, known = started(tmp_path / "few", 0)
    of_agents = tuple(f"everyagent.agents.{folder}" for folder in ("acp", "amp", "claude", "codex", "mock", "opencode"))
    assert [name for name in serving if name.startswith(of_agents)] == []
    assert started(tmp_path / "many", 200) == (serving, {*at_rest, "everyagent.agents.acp.own"}, known + 200)


async def test_the_state_of_an_agent_is_the_same_before_and_after_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent in ("claude", "codex", "opencode", "amp", *ACP_AGENTS):
        executable(tmp_path / "bin" / (profiles.load(agent).command if agent in ACP_AGENTS else agent))
        monkeypatch.delenv(f"EVERYAGENT_{agent.upper()}_BIN", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with anyio.create_task_group() as tasks:
        assert {each.name for each in known_adapters(tasks, tmp_path / "agents")} == KNOWN_AGENTS
        for adapter in known_adapters(tasks, tmp_path / "agents"):
            assert isinstance(adapter, LazyAdapter)
            before = await adapter.state()
            assert before.installed
            loaded = adapter.loaded
            assert (loaded.name, loaded.title) == (adapter.name, adapter.title)
            assert await loaded.state() == before
            assert await adapter.state() == before
            await adapter.close()
