"""Required actions outlive a daemon that is killed or stopped at any stage, and nothing is stuck afterwards."""

from collections.abc import Generator
from pathlib import Path
from typing import Literal

import httpx2
import pytest

from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.managed_rules import ManagedRules
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, WEATHER, Event, Raw, required, texts

How = Literal["killed", "stopped"]


@pytest.fixture
def own(tmp_path: Path) -> Generator[DaemonProcess]:
    running = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    running.start()
    yield running
    running.stop()
    assert rebuilt(running)


@pytest.fixture
def raw(own: DaemonProcess) -> Generator[Raw]:
    client = Raw(own)
    yield client
    client.close()


def restart(daemon: DaemonProcess, how: How) -> None:
    if how == "killed":
        daemon.kill()
    else:
        daemon.stop()
    daemon.start()


def allow(event: str) -> Event:
    return {"type": "user.tool_confirmation", "tool_use_id": event, "result": "allow"}


def checked(raw: Raw) -> list[Event]:
    import msgspec

    events = raw.events()
    ManagedRules().feed(msgspec.json.encode(event) for event in events)
    return events


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_confirmation_survives_a_restart(own: DaemonProcess, raw: Raw, how: How) -> None:
    raw.create(ASKING)
    raw.say('[tool command="echo one"] [tool command="echo two"]')
    idle = raw.wait_idle("requires_action")
    while len(required(idle)) < 2:
        idle = raw.wait_idle("requires_action")
    before = raw.events()
    restart(own, how)
    assert raw.status() == "idle"
    after = raw.events()
    assert after[: len(before)] == before
    assert required(raw.wait_idle("requires_action")) == required(idle)
    first, second = required(idle)
    raw.send(allow(first))
    assert required(raw.wait_idle("requires_action")) == [second]
    restart(own, how)
    assert required(raw.wait_idle("requires_action")) == [second]
    raw.send({"type": "user.tool_confirmation", "tool_use_id": second, "result": "deny", "deny_message": "No."})
    raw.wait_idle("end_turn")
    told = texts(checked(raw))
    assert "The user allowed bash" in told
    assert "They said: No." in told
    raw.say("[hello]")
    raw.wait_idle("end_turn")


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_custom_tool_and_a_question_survive_a_restart(own: DaemonProcess, raw: Raw, how: How) -> None:
    raw.create(TOOLSET, WEATHER)
    raw.say('[custom name=get_weather input={"city":"Oslo"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    restart(own, how)
    result = {"type": "text", "text": "sunny"}
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": [result]})
    raw.wait_idle("end_turn")
    assert "returned: sunny" in texts(checked(raw))
    raw.say("[question]")
    (use,) = required(raw.wait_idle("requires_action"))
    restart(own, how)
    answer = {"type": "text", "text": "Red\nDocs"}
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": [answer]})
    raw.wait_idle("end_turn")
    assert "Docs" in texts(checked(raw))


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_tool_call_for_the_clients_machine_survives_a_restart(own: DaemonProcess, raw: Raw, how: How) -> None:
    raw.create(ASKING, environment={"type": "self_hosted"})
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    restart(own, how)
    raw.send(allow(use))
    restart(own, how)
    assert required(raw.wait_idle("requires_action")) == [use], "it was allowed, and waits for its result"
    plan9 = {"type": "text", "text": "Plan 9"}
    raw.send({"type": "user.tool_result", "tool_use_id": use, "content": [plan9]})
    raw.wait_idle("end_turn")
    assert "returned: Plan 9" in texts(checked(raw))
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    restart(own, how)
    raw.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": "deny", "deny_message": "No."})
    raw.wait_idle("end_turn")
    events = checked(raw)
    assert "They said: No." in texts(events)
    assert [event["tool_use_id"] for event in events if event["type"] == "agent.tool_result"] == [use]


def test_a_required_action_can_be_interrupted_after_a_restart(own: DaemonProcess, raw: Raw) -> None:
    raw.create(ASKING)
    raw.say("[tool]")
    raw.wait_idle("requires_action")
    raw.say("[hello] waits until that is done")
    restart(own, "killed")
    raw.wait_idle("requires_action")
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    assert "Hello!" in texts(checked(raw)), "what was queued had its turn"


def test_an_acknowledged_answer_is_never_requested_again(own: DaemonProcess, raw: Raw) -> None:
    raw.create(ASKING)
    raw.say('[tool command="sleep 30"]')
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send(allow(use))
    restart(own, "killed")
    raw.wait_idle("retries_exhausted")
    checked(raw)
    raw.say("[hello]")
    raw.wait_idle("end_turn")


def test_a_queued_message_and_a_running_turn_survive_a_restart(own: DaemonProcess, raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say("[slow seconds=30]")
    raw.say("[hello] after the restart")
    queue = httpx2.get(f"{own.url}/v1{raw.path}/messages/queue", headers=own.headers).json()["messages"]
    assert [each["message"] for each in queue] == ["[hello] after the restart"]
    restart(own, "killed")
    raw.wait_idle("end_turn")
    events = checked(raw)
    assert "Hello!" in texts(events)
    assert [event["processed_at"] is None for event in events if event["type"] == "user.message"] == [False, False]


def test_a_stream_resumes_where_it_was_cut(raw: Raw) -> None:
    raw.create(TOOLSET)
    for _ in range(3):
        raw.say("[hello]")
        raw.wait_idle("end_turn")
    whole = raw.events()
    last = ""
    seen: list[object] = []
    while len(seen) < len(whole):
        for event in raw.stream(**{"last-event-id": last or "0"}):
            seen.append(event["id"])
            last = str(event["sse_id"])
            if len(seen) % 4 == 0 or len(seen) == len(whole):
                break
    assert seen == [event["id"] for event in whole]
