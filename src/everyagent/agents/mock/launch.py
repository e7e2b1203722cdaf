"""Command line and environment of the mock program: this Python, isolated and without site packages, to start fast."""

import sys
from collections.abc import Mapping
from pathlib import Path

import everyagent
from everyagent.agents.adapter import AgentState, Launch
from everyagent.runtime.environment import scrubbed

_BOOT = "import sys; sys.path.append(sys.argv.pop(1)); from everyagent.agents.mock.program.main import main; main()"


def state() -> AgentState:
    """Always installed: it is part of the package."""
    version = everyagent.__version__
    return AgentState(installed=True, credentials_available=True, version=version, tested_version=version)


def argv() -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _BOOT, str(Path(everyagent.__file__).parents[1])]


def environment(launch: Launch, source: Mapping[str, str]) -> dict[str, str]:
    """`source` is the daemon's own environment."""
    given = {
        "MOCK_TOOLS_URL": launch.tools_url,
        "MOCK_TOOLS_TOKEN": launch.tools_token,
        "MOCK_SHELL": str(launch.shell.bash) if launch.shell else None,
    }
    return scrubbed(source, session=launch.env) | {name: value for name, value in given.items() if value}
