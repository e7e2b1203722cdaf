"""Tool policies on the real Codex."""

import sys
from pathlib import Path

import pytest
from codex_stage import CodexSession
from tests.agents.networks import NetworkRules
from tests.agents.offline import needs_isolation
from tests.agents.policies import REFUSED, PolicyRules, Scene
from tests.scripted.responses_replies import call, custom, patch, run, say

from everyagent.model.events import TurnEnded

SERVER = Path(__file__).with_name("notes_mcp_server.py")
NEW_FILE = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch\n"
#: A model whose tools include sub-agents, and a program it can call them from.
RICH = "gpt-6.1-sol"


class CodexScene(Scene[CodexSession]):
    shell = "shell"
    subagent = "spawn_agent"
    server = "notes"
    tool = "write"
    model = RICH

    def shell_turn(self, *commands: str) -> None:
        self.session.model.script.add(*[run(each) for each in commands], say("Done."))
        self.session.send("Go")

    def subagent_turn(self, command: str) -> None:
        space = "collaboration"
        self.session.model.script.add(
            call("spawn_agent", {"task_name": "helper", "message": "Try"}, namespace=space, when="Use a helper"),
            run(command, when="NEW_TASK"),
            say("Tried.", when="blocked"),
            call("wait_agent", {"timeout_ms": 20000}, namespace=space, when="/root/helper"),
            say("Done.", when="FINAL_ANSWER"),
        )
        self.session.send("Use a helper")

    def mcp_turn(self) -> None:
        self.session.model.script.add(call(self.tool, {"text": "milk"}, namespace="mcp__notes"), say("Done."))
        self.session.send("Note it")

    def custom_turn(self) -> None:
        self.session.model.script.add(call("get_weather", {}, namespace="mcp__everyagent"), say("Done."))
        self.session.send("How is the weather?")

    def servers(self) -> dict[str, object]:
        return {"notes": {"type": "local", "command": [sys.executable, str(SERVER)]}}

    def model_input(self) -> str:
        return "\n".join(request.new_text for request in self.session.model.requests)


@pytest.fixture
def scene(session: CodexSession) -> CodexScene:
    return CodexScene(session)


class TestCodexPolicies(PolicyRules):
    pass


class TestCodexNetwork(NetworkRules):
    pass


def test_a_patch_is_writing_and_editing_at_once_and_gets_the_stricter_verdict(scene: CodexScene) -> None:
    scene.create("bypass", tools={"write": "ask", "edit": "allow"})
    scene.session.model.script.add(patch(NEW_FILE), say("Done."))
    scene.session.send("Go")
    assert scene.asked().tool == "apply_patch"
    assert not scene.made()
    scene.permits(1, "once")
    scene.rested()
    assert scene.made()
    assert scene.called() == ["apply_patch"]


def test_calls_of_a_program_that_the_model_wrote_are_ruled_too(scene: CodexScene) -> None:
    code = 'const done = await tools.exec_command({cmd: "touch made.txt"}); text(done.output);'
    scene.create("bypass", tools={"bash": "ask"})
    scene.session.model.script.add(custom("exec", code), say("Done."))
    scene.session.send("Go")
    scene.asked()
    assert not scene.made()
    scene.permits(1, "once")
    scene.rested()
    assert scene.made()
    assert scene.called() == ["shell"]


def test_a_call_that_the_policies_asked_about_is_not_asked_about_again(scene: CodexScene) -> None:
    scene.create("default", tools={"bash": "ask"}, mcp={"notes": {"default": "ask"}})
    scene.shell_turn("touch made.txt")
    scene.permits(1, "once")
    scene.rested()
    assert scene.made()
    scene.mcp_turn()
    scene.permits(2, "once")
    scene.rested()
    assert scene.asks() == 2


def test_an_allowed_tool_changes_nothing_in_plan_mode(scene: CodexScene) -> None:
    scene.create("plan", default="allow")
    scene.session.model.script.add(patch(NEW_FILE), say("Done."))
    scene.session.turn("Go")
    assert not scene.made()


def test_a_terminal_that_could_be_typed_into_is_not_given(scene: CodexScene) -> None:
    scene.create("bypass", tools={"bash": "ask"})
    scene.session.model.script.add(run("sh", tty=True, yield_time_ms=500), say("Done."))
    scene.session.send("Go")
    scene.permits(1, "once")
    scene.rested()
    assert "TTY execution is disabled" in scene.model_input()


def test_a_search_that_the_provider_runs_can_be_denied_but_not_asked_for(scene: CodexScene) -> None:
    scene.session.configure(web_search="live")
    asked = {"agent": "codex", "toolPolicies": {"default": "ask"}}
    assert scene.session.call("POST", "/sessions", asked, expect=400).json()["tool"] == "web_search"
    scene.create("bypass", default="ask", tools={"web_search": "deny", "image_generation": "deny"})
    scene.session.model.script.add(say("Hello."))
    scene.session.turn("Hi")
    assert "web_search" not in str(scene.session.model.requests[-1].tools)


def test_an_interrupt_withdraws_open_asks(scene: CodexScene) -> None:
    scene.create("bypass", tools={"bash": "ask"})
    scene.session.model.script.add(run("touch made.txt"))
    scene.session.send("Go")
    scene.asked()
    scene.session.cancel()
    assert scene.session.next(TurnEnded).stop_reason == "interrupted"
    scene.shell_turn("touch later.txt")
    scene.permits(2, "reject", "No more")
    scene.rested()
    assert not scene.made()
    assert not scene.made("later.txt")


def test_switching_hooks_off_does_not_switch_policies_off(scene: CodexScene) -> None:
    config = scene.session.home / "config.toml"
    config.write_text(config.read_text().replace("[features]", "[features]\nhooks = false"))
    scene.create("bypass", tools={"bash": "deny"})
    scene.shell_turn("touch made.txt")
    scene.rested()
    assert not scene.made()
    assert REFUSED in scene.model_input()


def test_a_mode_in_which_its_sandbox_is_left_on_a_yes_is_refused_with_hosts(scene: CodexScene) -> None:
    asked = {"agent": "codex", "allowedHosts": []}
    refused = scene.session.call("POST", "/sessions", asked, expect=400).json()
    assert refused["choices"] == ["bypass", "sandboxed", "plan"]
    scene.session.create(permissionMode="plan", allowedHosts=[])
    path = f"/sessions/{scene.session.id}"
    assert "cannot be limited" in scene.session.call("PATCH", path, {"permissionMode": "default"}, expect=400).text


@needs_isolation
@pytest.mark.parametrize("mode", ["bypass", "sandboxed"])
def test_its_commands_are_kept_to_hosts_also_after_a_change_of_mode(scene: CodexScene, mode: str, attempt: str) -> None:
    scene.session.create(permissionMode="plan", allowedHosts=[])
    scene.session.model.script.add(say("Planned."))
    scene.session.turn("Plan")
    scene.session.change(permissionMode=mode)
    scene.shell_turn(attempt)
    scene.session.until(lambda: scene.made("tried") or None)
    assert not scene.made("reached")
    scene.rested()
