"""Tool policies on the real Amp."""

import json
import sys
from pathlib import Path

import pytest
from amp_stage import AmpSession
from tests.agents.networks import NetworkRules
from tests.agents.policies import REFUSED, PolicyRules, Scene
from tests.scripted.amp_replies import Call, Reply, call, say

from everyagent.model.events import TurnEnded

SERVER = Path(__file__).parents[1] / "adding_mcp_server.py"


class AmpScene(Scene[AmpSession]):
    shell = "shell_command"
    subagent = "Task"

    def shell_turn(self, *commands: str) -> None:
        script = self.session.model.script
        script.add(*[call("shell_command", {"command": each}) for each in commands], say("Done."))
        self.session.send("Go")

    def subagent_turn(self, command: str) -> None:
        errand = Call("shell_command", {"command": command})
        self.session.model.script.add(Reply(text="My helper tried.", subagent_call=errand))
        self.session.send("Use a helper")

    def mcp_turn(self) -> None:
        self.session.model.script.add(call("mcp__sums__add", {"a": 1, "b": 2}), say("Done."))
        self.session.send("Add")

    def custom_turn(self) -> None:
        self.session.model.script.add(call("mcp__everyagent__get_weather", {}), say("Done."))
        self.session.send("How is the weather?")

    def servers(self) -> dict[str, object]:
        return {"sums": {"type": "local", "command": [sys.executable, str(SERVER)]}}

    def model_input(self) -> str:
        return self.session.thread_text()


@pytest.fixture
def scene(session: AmpSession) -> AmpScene:
    return AmpScene(session)


class TestAmpPolicies(PolicyRules):
    pass


class TestAmpNetwork(NetworkRules):
    pass


def test_policies_apply_to_reading(scene: AmpScene) -> None:
    (scene.session.workspace / "a.txt").write_text("words")
    scene.create("bypass", tools={"read": "deny"})
    scene.session.model.script.add(call("Read", {"path": str(scene.session.workspace / "a.txt")}), say("I may not."))
    scene.session.turn("Read it")
    assert REFUSED in scene.outputs()


def test_an_allow_policy_changes_nothing_in_plan_mode(scene: AmpScene) -> None:
    scene.create("plan", tools={"bash": "allow"})
    scene.shell_turn("touch made.txt")
    scene.rested()
    assert not scene.made()


def test_directory_settings_that_bypass_policies_are_refused(scene: AmpScene) -> None:
    (scene.session.workspace / ".amp").mkdir()
    rules = {"amp.permissions": [{"tool": "shell_command", "action": "allow"}]}
    (scene.session.workspace / ".amp" / "settings.json").write_text(json.dumps(rules))
    scene.create("bypass", tools={"bash": "deny"})
    scene.shell_turn("touch made.txt")
    ended = scene.session.next(TurnEnded)
    assert ended.stop_reason == "error"
    assert "tool policies" in str(ended.error)
    assert not scene.made()
