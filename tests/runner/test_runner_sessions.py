"""Sessions on a runner: the same events as on the daemon's machine, and nothing is lost when a part dies."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everyagent.model.events import Error, ItemCompleted, ItemDelta, PermissionRequested, ToolRequested, TurnEnded
from everyagent.model.items import text_of
from tests.runner.runner_process import Stage, staged
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with staged(tmp_path_factory.mktemp("stage")) as made:
        yield made


def said(stage: Stage, session_id: str) -> str:
    """The agent's words."""
    done = [event.data.item for event in stage.check(session_id) if isinstance(event.data, ItemCompleted)]
    return " ".join(text_of(item) for item in done if item.role == "assistant")


def ends(stage: Stage, session_id: str) -> list[str]:
    return [event.data.stop_reason for event in stage.check(session_id) if isinstance(event.data, TurnEnded)]


def test_a_session_on_a_runner_has_the_same_events(stage: Stage):
    prompt = "[hello] [reasoning] [tool command=pwd] [plan] [subagent] [unparsed] [retry times=1 delay_ms=1]"
    stage.create("far-same", permissionMode="bypass")
    stage.create("near-same", permissionMode="bypass", runner=None)
    for session_id in ("far-same", "near-same"):
        stage.send(session_id, prompt)
        stage.until(session_id, "turn.ended")
        wait_until(lambda session_id=session_id: stage.info(session_id)["status"] == "idle")
    far, near = stage.check("far-same"), stage.check("near-same")
    assert [(event.type, event.synthetic) for event in far] == [(event.type, event.synthetic) for event in near]
    assert str(stage.runner.work) in str([event.data for event in far])
    assert stage.info("far-same")["runner"] == "far"


def test_asks_answers_and_custom_tools_reach_the_agent(stage: Stage):
    tool = {"name": "get_weather", "description": "The weather.", "inputSchema": {"type": "object"}}
    stage.create("asks", tools=[tool])
    stage.send("asks", '[ask command=\'echo permitted\'] [custom name=get_weather input={"city":"Oslo"}]')
    asked = stage.until("asks", "permission.requested")
    (permission,) = [event.data for event in asked if isinstance(event.data, PermissionRequested)]
    path = f"/v1/sessions/asks/permissions/{permission.permission_id}/reply"
    stage.post(path, {"reply": "once"})
    called = stage.until("asks", "tool.requested")
    (call,) = [event.data for event in called if isinstance(event.data, ToolRequested)]
    stage.post(f"/v1/sessions/asks/tools/{call.tool_id}/reply", {"output": "It rains in Oslo."})
    stage.until("asks", "turn.ended")
    assert ends(stage, "asks") == ["end_turn"]
    assert "permitted" in str([event.data for event in stage.events("asks")])
    assert "It rains in Oslo." in str([event.data for event in stage.events("asks")])


def test_a_turn_can_be_cancelled_and_the_session_goes_on(stage: Stage):
    stage.create("cancel")
    stage.send("cancel", "[slow seconds=600]")
    stage.until_agent("cancel")
    stage.post("/v1/sessions/cancel/cancel")
    stage.until("cancel", "turn.ended")
    stage.send("cancel", "[whoami]")
    stage.until("cancel", "turn.ended", 2)
    assert ends(stage, "cancel") == ["interrupted", "end_turn"]
    stage.post("/v1/sessions/cancel/terminate")
    assert stage.check("cancel")[-1].type == "session.ended"


def test_the_agent_does_not_get_the_key(stage: Stage):
    """Neither from its environment, nor from the runner's environment, command line or files."""
    stage.create("key", permissionMode="bypass")
    stage.send("key", '[tool command=\'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\\\0" "\\\\n"\']')
    stage.until("key", "turn.ended")
    secret = stage.key.partition(".")[2]
    assert secret not in str([event.data for event in stage.events("key")])
    for name in ("environ", "cmdline"):
        assert secret.encode() not in Path(f"/proc/{stage.runner.pid}/{name}").read_bytes()
    files = [path for path in (stage.runner.folder / "data").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert not [
        path for path in stage.daemon.data_dir.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_a_cut_link_loses_nothing(stage: Stage):
    stage.create("cut")
    stage.send("cut", "[flood events=3000 size=10 rate=1500]")
    for _ in range(3):
        seen = stage.until_agent("cut")
        stage.link.cut()
        wait_until(lambda: not stage.connected())
        stage.link.mend()
        stage.until_connected()
        wait_until(lambda seen=seen: len(stage.events("cut")) > seen or "turn.ended" in stage.types("cut"))
    stage.until("cut", "turn.ended")
    assert ends(stage, "cut") == ["end_turn"]
    deltas = [event for event in stage.events("cut") if isinstance(event.data, ItemDelta) and event.source == "agent"]
    assert len(deltas) >= 3000


def test_commands_of_a_time_without_a_link_arrive_later(stage: Stage):
    stage.create("late")
    stage.send("late", "[ask command='echo permitted']")
    (ask,) = [e.data for e in stage.until("late", "permission.requested") if isinstance(e.data, PermissionRequested)]
    stage.link.cut()
    wait_until(lambda: not stage.connected())
    stage.post(f"/v1/sessions/late/permissions/{ask.permission_id}/reply", {"reply": "once"})
    stage.link.mend()
    stage.until("late", "turn.ended")
    assert ends(stage, "late") == ["end_turn"]


def test_a_killed_daemon_goes_on_with_the_turn(stage: Stage):
    stage.create("killed")
    before = len(stage.runner.output())
    stage.send("killed", "[flood events=3000 size=10 rate=1500] [ask command='echo permitted']")
    for number in range(3):
        stage.until_agent("killed", 100 * number + 4)
        stage.daemon.kill()
        stage.restart_daemon()
        stage.until_connected()
    (ask,) = [e.data for e in stage.until("killed", "permission.requested") if isinstance(e.data, PermissionRequested)]
    stage.daemon.kill()
    stage.restart_daemon()
    stage.until_connected()
    stage.post(f"/v1/sessions/killed/permissions/{ask.permission_id}/reply", {"reply": "once"})
    stage.until("killed", "turn.ended")
    assert ends(stage, "killed") == ["end_turn"]
    logged = stage.runner.output()[before:]
    assert logged.count("connection to the daemon is lost") == logged.count("connection to the daemon is back") > 0
    assert '"error": ""' not in logged
    events = stage.check("killed")
    deltas = [event for event in events if isinstance(event.data, ItemDelta) and event.source == "agent"]
    assert len(deltas) >= 3000
    assert not [event for event in events if isinstance(event.data, Error)]


def test_a_stopped_daemon_leaves_the_agent_running(stage: Stage):
    stage.create("stopped")
    stage.send("stopped", "[slow seconds=600]")
    stage.until_agent("stopped")
    stage.daemon.stop()
    stage.restart_daemon()
    stage.until_connected()
    seen = len(stage.events("stopped"))
    wait_until(lambda: len(stage.events("stopped")) > seen)
    stage.post("/v1/sessions/stopped/cancel")
    stage.until("stopped", "turn.ended")
    assert ends(stage, "stopped") == ["interrupted"]


def test_a_killed_runner_ends_the_turn_and_the_session_resumes(stage: Stage):
    stage.create("lost")
    stage.send("lost", "[slow seconds=600]")
    stage.until_agent("lost")
    stage.runner.kill()
    stage.runner.start()
    events = stage.until("lost", "turn.ended")
    (error,) = [event.data for event in events if isinstance(event.data, Error)]
    assert "runner was restarted" in error.message
    stage.until_connected()
    stage.send("lost", "[whoami]")
    stage.until("lost", "turn.ended", 2)
    assert ends(stage, "lost") == ["error", "end_turn"]
    assert "turn: 2" in said(stage, "lost")
