"""Sessions of real ACP agents behind a real daemon, with a scripted model on loopback."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from platformdirs import user_cache_path
from tests.agents.stage import Stage
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer

from everyagent.agents import packages
from everyagent.agents.acp import profiles, program
from everyagent.errors import AgentFailed
from everyagent.model.parts import Json
from everyagent.testing.daemon import DaemonProcess


class Dialect(NamedTuple):
    """How an agent is pointed at the scripted model, by variables in which {url} stands for its address, and what the
    model calls its shell and the tools of MCP servers.
    """

    variables: dict[str, str]
    shell: str
    more: dict[str, Json]
    mcp: str = "mcp__{server}__{tool}"


DIALECTS: dict[str, Dialect] = {
    "copilot": Dialect(
        {
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-fake",
            "COPILOT_MODEL": "fake-model",
            "COPILOT_OFFLINE": "true",
        },
        "bash",
        {"description": "scripted"},
        "{server}-{tool}",
    ),
    "gemini": Dialect(
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "fake-key"},
        "run_shell_command",
        {},
        "mcp_{server}_{tool}",
    ),
    "qwen": Dialect(
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "sk-fake", "OPENAI_MODEL": "fake-model"},
        "run_shell_command",
        {"is_background": False},
    ),
    "kimi": Dialect(
        {
            "KIMI_MODEL_BASE_URL": "{url}/v1",
            "KIMI_MODEL_API_KEY": "sk-fake",
            "KIMI_MODEL_NAME": "fake-model",
            "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_CAPABILITIES": "image_in,thinking",
        },
        "Bash",
        {},
    ),
    "goose": Dialect(
        {"OPENAI_HOST": "{url}", "OPENAI_API_KEY": "sk-fake", "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "fake-model"},
        "shell",
        {},
        "{server}__{tool}",
    ),
}


#: Where the tests keep agents' programs, fetched once.
AGENTS_CACHE = Path(os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents")


def installed(agent: str) -> Path | str:
    """The tested program, fetched once into a cache; the reason why not if it cannot be had on this machine."""
    profile = profiles.load(agent)
    named = os.environ.get(profile.variable)
    if named:
        return Path(named)
    assert profile.npm
    try:
        return packages.install(program.pinned(profile.npm), AGENTS_CACHE / agent)
    except AgentFailed as failure:
        return failure.detail


def surroundings(agent: str, home: Path) -> dict[str, str]:
    """The environment of a daemon for the tested program. Skips the test if that cannot be had on this machine."""
    program = installed(agent)
    if isinstance(program, str):
        pytest.skip(f"{agent} cannot be installed here: {program}")
    return {"HOME": str(home), profiles.load(agent).variable: str(program)}


class AcpSession(Stage[ChatServer | GeminiServer]):
    """A session of one of the agents in `DIALECTS`."""

    def __init__(self, agent: str, daemon: DaemonProcess, model: ChatServer | GeminiServer, folder: Path) -> None:
        super().__init__(daemon, model, folder)
        self._agent = agent
        self.dialect = DIALECTS.get(agent, Dialect({}, "", {}))

    @property
    def agent(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._agent

    def environment(self) -> dict[str, str]:
        url = str(self.model.url).removesuffix("/v1")
        variables = {name: value.format(url=url) for name, value in self.dialect.variables.items()}
        return {"HOME": str(self.home), **variables}

    def tool(self, server: str, tool: str) -> str:
        """The name by which the model calls a tool of an MCP server."""
        return self.dialect.mcp.format(server=server, tool=tool)

    def shell(self, command: str) -> tuple[str, dict[str, Json]]:
        return self.dialect.shell, {"command": command, **self.dialect.more}
