"""A self-hosted environment: the client executes the toolset, and the agent has no tools of its own."""

from collections.abc import Generator

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import ASKING, TOOLSET, Event, Raw, required

SELF_HOSTED = {"type": "self_hosted"}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def test_the_client_executes_the_toolset(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}] [custom name=read input={"file_path":"/etc/hosts"}]')
    while len(required(idle := raw.wait_idle("requires_action"))) < 2:
        pass
    uses = {str(event["id"]): event for event in raw.events() if event["type"] == "agent.tool_use"}
    assert list(uses) == required(idle)
    assert {str(use["name"]): use["input"] for use in uses.values()} == {
        "bash": {"command": "uname"},
        "read": {"file_path": "/etc/hosts"},
    }
    answers = [
        {"type": "user.tool_result", "tool_use_id": use, "content": [{"type": "text", "text": "Plan 9"}]}
        for use in uses
    ]
    raw.send(*answers)
    raw.wait_idle("end_turn")
    assert [event for event in raw.events() if event["type"] == "agent.tool_result"] == []


def test_the_agents_own_tools_do_not_run(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[tool command="echo mine"]')
    raw.wait_idle("end_turn")
    (result,) = [event for event in raw.events() if event["type"] == "agent.tool_result"]
    assert result["is_error"]


def test_tool_results_are_refused_in_a_cloud_environment(raw: Raw) -> None:
    raw.create(TOOLSET)
    with pytest.raises(AssertionError, match="self-hosted"):
        raw.send({"type": "user.tool_result", "tool_use_id": "sevt_x"})


def test_an_interrupt_fails_tool_calls_without_a_result(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    (result,) = [event for event in raw.events() if event["type"] == "user.tool_result"]
    assert (result["tool_use_id"], result["is_error"]) == (use, True)


def uname(raw: Raw) -> str:
    raw.create(ASKING, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    (event,) = of(raw, "agent.tool_use")
    assert (event["id"], event["evaluated_permission"], event["evaluation"]) == (use, "ask", {"type": "always_ask"})
    return use


def of(raw: Raw, kind: str) -> list[Event]:
    return [event for event in raw.events() if event["type"] == kind]


def confirmation(use: str, result: str, **more: str) -> Event:
    return {"type": "user.tool_confirmation", "tool_use_id": use, "result": result, **more}


def result_of(use: str) -> Event:
    return {"type": "user.tool_result", "tool_use_id": use, "content": [{"type": "text", "text": "Plan 9"}]}


def test_an_always_ask_tool_is_executed_after_its_confirmation(raw: Raw) -> None:
    use = uname(raw)
    with pytest.raises(AssertionError, match=r"is answered by `user\.tool_confirmation`"):
        raw.send(result_of(use))
    raw.send(confirmation(use, "allow"))
    idle = raw.wait_idle("requires_action")
    assert required(idle) == [use], "it waits for its result now"
    assert [event["type"] for event in raw.events()[-2:]] == ["user.tool_confirmation", "session.status_idle"]
    with pytest.raises(AssertionError, match=r"is answered by `user\.tool_result`"):
        raw.send(confirmation(use, "deny"))
    raw.send(result_of(use))
    raw.wait_idle("end_turn")
    assert "Plan 9" in raw.universal(), "the agent got the result"
    assert of(raw, "agent.tool_result") == []


def test_a_confirmation_and_a_result_can_be_sent_together(raw: Raw) -> None:
    use = uname(raw)
    raw.send(confirmation(use, "allow"), result_of(use))
    raw.wait_idle("end_turn")
    assert "Plan 9" in raw.universal(), "the agent got the result"


def test_a_denied_tool_call_is_not_executed(raw: Raw) -> None:
    use = uname(raw)
    raw.send(confirmation(use, "deny", deny_message="Not here."))
    raw.wait_idle("end_turn")
    (result,) = of(raw, "agent.tool_result")
    assert (result["tool_use_id"], result["is_error"]) == (use, True)
    assert of(raw, "user.tool_result") == []
    assert "They said: Not here." in raw.universal(), "the agent got the reason"


def test_an_interrupt_denies_a_pending_confirmation(raw: Raw) -> None:
    use = uname(raw)
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    (denial,) = of(raw, "user.tool_confirmation")
    (result,) = of(raw, "agent.tool_result")
    assert (denial["tool_use_id"], denial["result"], result["tool_use_id"]) == (use, "deny", use)


@pytest.mark.parametrize("policy", ["auto", "always_allow"])
def test_an_allowed_tool_needs_no_confirmation(raw: Raw, policy: str) -> None:
    config = {"name": "bash", "permission_policy": {"type": policy}}
    raw.create({**ASKING, "configs": [config]}, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    (event,) = of(raw, "agent.tool_use")
    assert event["evaluated_permission"] == "allow"
    raw.send(result_of(use))
    raw.wait_idle("end_turn")
