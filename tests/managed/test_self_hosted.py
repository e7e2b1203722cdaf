"""A self-hosted environment: the client's own machine carries out the toolset, the agent has no tools of its own."""

from collections.abc import Generator

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Raw, required

SELF_HOSTED = {"type": "self_hosted"}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def test_the_client_carries_out_the_toolset(raw: Raw) -> None:
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


def test_elsewhere_nobody_gives_the_toolsets_results(raw: Raw) -> None:
    raw.create(TOOLSET)
    with pytest.raises(AssertionError, match="self-hosted"):
        raw.send({"type": "user.tool_result", "tool_use_id": "sevt_x"})


def test_an_interrupt_closes_what_the_client_did_not_carry_out(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    (result,) = [event for event in raw.events() if event["type"] == "user.tool_result"]
    assert (result["tool_use_id"], result["is_error"]) == (use, True)
