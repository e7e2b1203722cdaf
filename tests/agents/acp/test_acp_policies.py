"""Tool policies with the real ACP agents: all rules with Goose, which is the fastest, and the first ones with all.

The protocol has no field for the reason of a denial, so it does not reach the model.
"""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from acp_stage import DIALECTS, AcpSession, surroundings
from tests.agents import adding_mcp_server
from tests.agents.policies import PolicyRules, Scene
from tests.agents.stage import Model, Stage, daemon_of
from tests.scripted.chat_replies import call, say
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer

from everyagent.testing.daemon import DaemonProcess

SUMS = Path(adding_mcp_server.__file__)


class AcpScene(Scene[AcpSession]):
    subagent = None
    reasons = False
    own_tools_off = False

    @property
    def shell(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.session.dialect.shell

    def shell_turn(self, *commands: str) -> None:
        prompt = f"Run {' and '.join(commands)}."
        first, *rest = [self.session.shell(command) for command in commands]
        self._turn(prompt, call(*first, when=prompt), *(call(*each) for each in rest))

    def subagent_turn(self, command: str) -> None:
        raise AssertionError("these sessions have no sub-agents")

    def mcp_turn(self) -> None:
        self._turn("Add them.", call(self.session.tool(self.server, self.tool), {"a": 2, "b": 3}, when="Add them."))

    def custom_turn(self) -> None:
        self._turn("How is it?", call(self.session.tool("everyagent", "get_weather"), {}, when="How is it?"))

    def servers(self) -> dict[str, object]:
        return {self.server: {"type": "local", "command": [sys.executable, str(SUMS)]}}

    def model_input(self) -> str:
        return self.session.model.requests[-1].everything

    def _turn(self, prompt: str, *replies: object) -> None:
        """An agent that ends its turn at a rejection leaves replies over."""
        self.session.model.script.forget()
        self.session.model.script.add(*replies, say("Done."))  # pyright: ignore[reportArgumentType]
        self.session.send(prompt)


@pytest.fixture(scope="module")
def goose(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    folder = tmp_path_factory.mktemp("goose")
    with daemon_of(folder, **surroundings("goose", folder)) as running:
        yield running


class TestGoose(PolicyRules):
    @pytest.fixture
    def scene(self, goose: DaemonProcess, tmp_path: Path) -> Generator[AcpScene]:
        with ChatServer() as model, AcpSession("goose", goose, model, tmp_path).played() as session:
            yield AcpScene(session)


@pytest.fixture(params=[agent for agent in DIALECTS if agent != "goose"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[AcpScene]:
    agent = str(request.param)
    with (
        daemon_of(tmp_path, **surroundings(agent, tmp_path)) as daemon,
        GeminiServer() if agent == "gemini" else ChatServer() as model,
        AcpSession(agent, daemon, model, tmp_path).played() as session,
    ):
        yield AcpScene(session)


def test_a_policy_asks_in_bypass_mode_for_every_call_until_it_is_changed(scene: Scene[Stage[Model]]) -> None:
    scene.session.create(permissionMode="bypass", toolPolicies={"tools": {"bash": "ask"}})
    scene.shell_turn("touch first.txt")
    assert scene.asked().options == ["once", "reject"]
    assert not scene.made("first.txt")
    scene.permits(1, "always")
    scene.rested()
    assert scene.made("first.txt")
    scene.shell_turn("touch second.txt")
    scene.permits(2, "reject")
    scene.rested()
    assert not scene.made("second.txt")
    scene.session.change(toolPolicies={"tools": {"bash": "allow"}})
    scene.shell_turn("touch third.txt")
    scene.rested()
    assert scene.made("third.txt")
    assert scene.asks() == 2
