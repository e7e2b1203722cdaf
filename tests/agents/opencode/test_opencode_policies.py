"""Tool policies on the real OpenCode."""

import sys
from pathlib import Path

import pytest
from opencode_stage import OpencodeSession
from tests.agents.networks import NetworkRules
from tests.agents.policies import PolicyRules, Scene
from tests.scripted.chat_replies import call, run, say

SERVER = Path(__file__).parents[1] / "adding_mcp_server.py"


class OpencodeScene(Scene[OpencodeSession]):
    shell = "bash"
    subagent = "task"

    def shell_turn(self, *commands: str) -> None:
        self.session.model.script.add(*[run(each) for each in commands], say("Done."))
        self.session.send("Go")

    def subagent_turn(self, command: str) -> None:
        task = {"description": "Try", "prompt": "Try it for me", "subagent_type": "general"}
        self.session.model.script.add(
            call("task", task, when="Use a helper"),
            run(command, when="Try it for me"),
            say("Tried."),
            say("Done."),
        )
        self.session.send("Use a helper")

    def mcp_turn(self) -> None:
        self.session.model.script.add(call("sums_add", {"a": 1, "b": 2}), say("Done."))
        self.session.send("Add")

    def custom_turn(self) -> None:
        self.session.model.script.add(call("everyagent_get_weather", {}), say("Done."))
        self.session.send("How is the weather?")

    def servers(self) -> dict[str, object]:
        return {"sums": {"type": "local", "command": [sys.executable, str(SERVER)]}}

    def model_input(self) -> str:
        return "\n".join(request.new_text for request in self.session.model.requests)


@pytest.fixture
def scene(alone: OpencodeSession) -> OpencodeScene:
    return OpencodeScene(alone)


class TestOpencodePolicies(PolicyRules):
    pass


class TestOpencodeNetwork(NetworkRules):
    pass
