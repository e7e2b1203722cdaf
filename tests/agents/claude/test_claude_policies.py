"""Tool policies on the real Claude Code."""

import sys
from pathlib import Path

import pytest
from claude_stage import ClaudeSession
from tests.agents.networks import NetworkRules
from tests.agents.policies import PolicyRules, Scene
from tests.scripted.messages_replies import call, say

from everyagent.model.events import QuestionRequested

SERVER = Path(__file__).parents[1] / "adding_mcp_server.py"


class ClaudeScene(Scene[ClaudeSession]):
    shell = "Bash"
    subagent = "Agent"

    def shell_turn(self, *commands: str) -> None:
        script = self.session.model.script
        script.add(*[call("Bash", {"command": each, "description": "try"}) for each in commands], say("Done."))
        self.session.send("Go")

    def subagent_turn(self, command: str) -> None:
        task = {"description": "try", "prompt": "HELP ME", "run_in_background": False}
        self.session.model.script.add(
            call("Agent", task, when="Use a helper"),
            call("Bash", {"command": command, "description": "try"}, when="HELP ME"),
            say("Tried."),
            say("Done."),
        )
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
        return "\n".join(request.new_text for request in self.session.model.requests)


@pytest.fixture
def scene(session: ClaudeSession) -> ClaudeScene:
    return ClaudeScene(session)


class TestClaudePolicies(PolicyRules):
    pass


class TestClaudeNetwork(NetworkRules):
    pass


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk", "auto", "plan"])
def test_an_ask_policy_asks_in_every_mode(scene: ClaudeScene, mode: str) -> None:
    scene.create(mode, tools={"bash": "ask"})
    scene.shell_turn("touch made.txt")
    scene.permits(1, "reject")
    scene.rested()
    assert not scene.made()


def test_an_allowed_tool_changes_nothing_in_plan_mode(scene: ClaudeScene) -> None:
    scene.create("plan", default="allow")
    made = scene.session.workspace / "made.txt"
    scene.session.model.script.add(call("Write", {"file_path": str(made), "content": "x"}), say("Done."))
    scene.session.send("Write it")
    scene.session.until(lambda: scene.asks() or scene.session.replies() or None)
    assert not made.exists()
    for number in range(scene.asks()):
        scene.permits(number + 1, "reject")
    scene.rested()
    assert not made.exists()


def test_a_command_inside_a_slash_command_obeys_the_policies(scene: ClaudeScene) -> None:
    commands = scene.session.workspace / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "sly.md").write_text("---\nallowed-tools: Bash(touch:*)\n---\nSay what !`touch made.txt` said\n")
    scene.create("bypass", tools={"bash": "deny"})
    scene.session.model.script.add(say("Nothing."))
    scene.session.turn("/sly")
    assert not scene.made()


def test_questions_need_no_permission_and_can_be_denied_by_name(scene: ClaudeScene) -> None:
    option = {"label": "SQLite", "description": "a file"}
    questions = [{"question": "Which?", "header": "Which", "options": [option, {**option, "label": "Postgres"}]}]
    scene.create("bypass", default="deny", tools={"AskUserQuestion": "deny"})
    scene.session.model.script.add(call("AskUserQuestion", {"questions": questions}), say("Done."))
    scene.session.turn("Ask")
    assert "tool policies do not allow AskUserQuestion" in scene.model_input()
    scene.session.change(toolPolicies={"default": "ask"})
    scene.session.model.script.add(call("AskUserQuestion", {"questions": questions}), say("Done."))
    scene.session.send("Ask again")
    scene.session.answer(scene.session.next(QuestionRequested).question_id, ["SQLite"])
    scene.rested()
    assert scene.asks() == 0
