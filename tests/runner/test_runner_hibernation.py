"""Agents on a runner that are idle for long."""

from pathlib import Path

from everyagent.model.events import TurnEnded
from tests.runner.runner_process import Stage, staged
from tests.waiting import wait_until


def held(stage: Stage) -> object:
    return stage.get("/v1/runners").json()["runners"][0]["sessions"]


def test_an_idle_agent_is_ended_on_its_runner_and_resumes(tmp_path: Path):
    with staged(tmp_path, "--idle-timeout", "0.2") as stage:
        stage.create("idle")
        for number in (1, 2):
            stage.send("idle", "[whoami]")
            stage.until("idle", "turn.ended", number)
            wait_until(lambda: held(stage) == 0, lambda: (stage.runner.output(), stage.daemon.output()))
        ends = [event.data.stop_reason for event in stage.check("idle") if isinstance(event.data, TurnEnded)]
        assert ends == ["end_turn", "end_turn"]
        assert "is sent again" not in stage.runner.output()
        assert "did not close" not in stage.daemon.output()
