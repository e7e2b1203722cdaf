"""Tool policies on the mock."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.agents.policies import PolicyRules, Scene
from tests.agents.stage import Stage, daemon_of

from everyagent.testing.daemon import DaemonProcess


class Silent:
    """The mock has no model."""

    @property
    def script(self) -> "Silent":
        return self

    def release_all(self) -> None:
        return


class MockSession(Stage[Silent]):
    agent = "mock"

    def environment(self) -> dict[str, str]:
        return {}


class MockScene(Scene[MockSession]):
    shell = "bash"
    subagent = "task"

    def shell_turn(self, *commands: str) -> None:
        self.session.send(" then ".join(f"[ask command={json.dumps(each)}]" for each in commands))

    def subagent_turn(self, command: str) -> None:
        self.session.send(f"[subagent command={json.dumps(command)}]")

    def mcp_turn(self) -> None:
        self.session.send("[mcp name=add server=sums]")

    def custom_turn(self) -> None:
        self.session.send("[custom name=get_weather]")

    def model_input(self) -> str:
        return self.outputs()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    with daemon_of(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def scene(daemon: DaemonProcess, tmp_path: Path) -> Generator[MockScene]:
    with MockSession(daemon, Silent(), tmp_path).played() as session:
        yield MockScene(session)


class TestMockPolicies(PolicyRules):
    pass
