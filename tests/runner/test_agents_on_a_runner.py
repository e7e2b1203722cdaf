"""The real agents on a runner: each has one session through every kind of command, and its runner is killed once."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everyagent.model.events import Error, ItemCompleted, PermissionRequested, ToolRequested, TurnEnded
from everyagent.model.items import text_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.runner.runner_process import Stage, staged
from tests.waiting import wait_until

TOOL = {"name": "get_weather", "description": "The weather.", "inputSchema": {"type": "object"}}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    """A daemon and a runner that have all agents."""
    home = tmp_path_factory.mktemp("home")
    environment = {name: value for around in SURROUNDINGS.values() for name, value in around(home).items()}
    with staged(tmp_path_factory.mktemp("agents"), environment=environment) as made:
        yield made


def ends(stage: Stage, agent: str) -> list[str]:
    return [event.data.stop_reason for event in stage.check(agent) if isinstance(event.data, TurnEnded)]


def replies(stage: Stage, agent: str) -> list[str]:
    done = [event.data.item for event in stage.events(agent) if isinstance(event.data, ItemCompleted)]
    return [text for item in done if item.role == "assistant" and (text := text_of(item))]


@pytest.mark.parametrize("agent", sorted(SURROUNDINGS))
def test_an_agent_works_on_a_runner_and_outlives_its_kill(stage: Stage, agent: str, tmp_path: Path) -> None:
    work = stage.runner.work / agent
    work.mkdir()
    with real_model(agent, stage.daemon, tmp_path) as model:
        stage.create(
            agent,
            agent=agent,
            model=model.model,
            env=model.environment,
            directory=agent,
            permissionMode="bypass",
            toolPolicies={"tools": {"bash": "ask"}},
            tools=[TOOL],
        )
        model.run("touch made", when="First of all")
        model.say("It is made.")
        stage.send(agent, "First of all")
        asked = stage.until(agent, "permission.requested")
        assert not (work / "made").exists()
        (permission,) = [event.data for event in asked if isinstance(event.data, PermissionRequested)]
        stage.post(f"/v1/sessions/{agent}/permissions/{permission.permission_id}/reply", {"reply": "once"})
        stage.until(agent, "turn.ended")
        assert (work / "made").exists()

        model.get_weather(when="Look outside")
        model.say("It rains there.")
        stage.send(agent, "Look outside")
        called = stage.until(agent, "tool.requested")
        (call,) = [event.data for event in called if isinstance(event.data, ToolRequested)]
        stage.post(f"/v1/sessions/{agent}/tools/{call.tool_id}/reply", {"output": "Rain in Oslo."})
        stage.until(agent, "turn.ended", 2)
        assert "Rain in Oslo." in model.last_input()

        model.hold(when="Talk for long")
        stage.send(agent, "Talk for long")
        wait_until(lambda: "Talk for long" in model.last_input(), stage.runner.output)
        stage.post(f"/v1/sessions/{agent}/cancel")
        stage.until(agent, "turn.ended", 3)

        model.run("touch more", when="Make more")
        stage.send(agent, "Make more")
        stage.until(agent, "permission.requested", 2)
        stage.runner.kill()
        stage.runner.start()
        killed = stage.until(agent, "turn.ended", 4)
        assert "runner was restarted" in [event.data for event in killed if isinstance(event.data, Error)][-1].message

        stage.until_connected()
        model.say("I remember.", when="Do you remember?")
        stage.send(agent, "Do you remember?")
        stage.until(agent, "turn.ended", 5)
        assert replies(stage, agent)[-1] == "I remember."
        assert "It is made." in model.last_input(), "the agent has its own history"
        assert ends(stage, agent) == ["end_turn", "end_turn", "interrupted", "error", "end_turn"]
        stage.post(f"/v1/sessions/{agent}/terminate")
        assert stage.check(agent)[-1].type == "session.ended"
        assert stage.get("/v1/runners").json()["runners"][0]["sessions"] == 0
