"""Agents of a roster: threads of their coordinator's session, each a session of its own."""

import json
from collections.abc import Generator
from typing import cast

import msgspec
import pytest

from everyagent.managed.projection.commands import CommandFrame, ThreadCalled, ThreadReport
from everyagent.managed.roster.members import members_of, roster_tool
from everyagent.model.events import TurnEnded, TurnStarted
from everyagent.model.usage import Usage
from everyagent.testing.daemon import TOKEN, DaemonProcess
from everyagent.testing.managed_rules import ManagedRules
from tests.managed import parity
from tests.managed.raw import ASKING, TOOLSET, WEATHER, Event, Raw, required
from tests.managed.sdks import PYTHON, Sdk
from tests.managed.test_budgets import budget
from tests.managed.test_grants import frame
from tests.managed.test_projection import projector
from tests.managed.test_restarts import How, allow, own, raw, restart
from tests.managed.test_thread_interrupts import on_thread
from tests.waiting import wait_until

__all__ = ["own", "raw"]  # fixtures


class _Part(msgspec.Struct):
    type: str
    output: str = ""


class _Item(msgspec.Struct):
    content: list[_Part]


class _Data(msgspec.Struct):
    item: _Item


class _Event(msgspec.Struct):
    data: _Data


class _Page(msgspec.Struct):
    events: list[_Event]


@pytest.fixture
def shared(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def member(raw: Raw, name: str, *tools: object, agent: str = "mock", model: str = "mock-large", **more: object) -> str:
    metadata = {"everyagent.agent": agent}
    body = {"name": name, "model": model, "tools": [*tools], "metadata": metadata, **more}
    return str(raw.call("POST", "/agents", body)["id"])


def coordinate(raw: Raw, *roster: object, agent: str = "mock", model: str = "mock-small", **more: object) -> None:
    multiagent = {"type": "coordinator", "agents": [*roster]}
    coordinator = member(raw, "Lead", TOOLSET, agent=agent, model=model, multiagent=multiagent)
    place = raw.call("POST", "/environments", {"name": f"for {coordinator}"})
    made = raw.call("POST", "/sessions", {"agent": coordinator, "environment_id": place["id"], **more})
    raw.session_id = str(made["id"])


def call(raw: Raw, *tasks: object) -> None:
    raw.say(f"[custom name=call_agents input={json.dumps({'tasks': tasks})}] [hello]")


def threads(raw: Raw) -> list[Event]:
    return cast("list[Event]", raw.call("GET", f"{raw.path}/threads")["data"])[1:]


def sessions_of_threads(raw: Raw) -> list[Event]:
    listed = cast("list[Event]", raw.universal_call("GET", "/sessions?limit=500")["sessions"])
    return [each for each in listed if cast("Event", each["metadata"]).get("everyagent.thread_of") == raw.session_id]


def results(raw: Raw) -> list[Event]:
    """The results of all calls of the coordinator, as its model reads them."""
    page = msgspec.convert(raw.universal_call("GET", f"{raw.path}/events?types=item.completed"), _Page)
    parts = [part for event in page.events for part in event.data.item.content]
    outputs = [json.loads(part.output) for part in parts if part.type == "tool_result" and part.output]
    return [each for output in outputs for each in output["results"]]


def checked(raw: Raw) -> list[Event]:
    events = raw.events()
    ManagedRules().feed(msgspec.json.encode(event) for event in events)
    return events


def kinds(events: list[Event]) -> list[str]:
    return [str(event["type"]) for event in events]


@pytest.mark.parametrize("sdk", PYTHON[:2], ids=lambda sdk: sdk.name)
def test_every_sdk_with_threads_sees_those_of_a_roster(sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, "rosters", "mock", sdk.run("rosters", daemon.url))


def test_invalid_tasks_fail_alone(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", TOOLSET))
    task, unknown = {"agent": "Helper", "message": "Fine."}, {"thread_id": "sthr_x", "message": "Hm"}
    call(shared, task, {"agent": "Nobody", "message": "Hm"}, unknown, {"message": "Hm"})
    shared.wait_idle("end_turn")
    first, *others = results(shared)
    assert (first["agent"], first["reply"]) == ("Helper", "Fine.")
    assert [str(each["error"])[:24] for each in others] == [
        "There is no agent 'Nobod",
        "There is no thread 'sthr",
        "A task has either an `ag",
    ]
    assert len(threads(shared)) == 1
    checked(shared)


def test_an_interrupt_of_the_session_stops_its_threads(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", TOOLSET))
    call(shared, {"agent": "Helper", "message": "[slow seconds=600]"}, {"agent": "Helper", "message": "[hang]"})
    wait_until(lambda: kinds(shared.events()).count("session.thread_status_running") == 2)
    shared.send({"type": "user.interrupt"})
    shared.wait_idle("end_turn")
    wait_until(lambda: {each["status"] for each in sessions_of_threads(shared)} <= {"idle", "hibernated"})
    assert [each["status"] for each in threads(shared)] == ["idle", "idle"]
    assert "agent.thread_message_received" not in kinds(checked(shared))


def test_a_late_report_does_not_revive_a_thread_of_an_ended_turn() -> None:
    rules, projection = ManagedRules(), projector()
    called = ThreadCalled(key="k", session="sthr_k", name="Helper", message="Go")
    frame(projection, rules, b"{}", TurnStarted(turn_id="t1", input_item_ids=[]))
    frame(projection, rules, msgspec.json.encode(CommandFrame(managed=called)), daemon=True)
    frame(projection, rules, b"{}", TurnEnded(turn_id="t1", stop_reason="interrupted"))
    late = ThreadReport(key="k", reached=5, status="running", usage=Usage(input_tokens=3))
    frame(projection, rules, msgspec.json.encode(CommandFrame(managed=late)), daemon=True)
    assert rules.status == "idle"
    assert projection.threads["k"].status == "idle"
    assert projection.state.roster_usage.input_tokens == 3


def test_an_interrupted_thread_stops_alone(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", TOOLSET))
    call(shared, {"agent": "Helper", "message": "[slow seconds=600]"}, {"agent": "Helper", "message": "Done."})
    wait_until(lambda: "idle" in [each["status"] for each in threads(shared)])
    (slow,) = [each for each in threads(shared) if each["status"] == "running"]
    shared.send({"type": "user.interrupt", "session_thread_id": slow["id"]})
    shared.wait_idle("end_turn")
    stopped, done = results(shared)
    assert (stopped["thread_id"], stopped["error"]) == (slow["id"], "The agent was interrupted.")
    assert done["reply"] == "Done."
    assert "user.interrupt" in kinds(on_thread(shared, str(slow["id"])))
    checked(shared)


def test_a_coordinator_that_is_interrupted_withdraws_what_its_threads_ask(shared: Raw) -> None:
    coordinate(shared, member(shared, "Careful", ASKING))
    call(shared, {"agent": "Careful", "message": "[tool command='echo asked']"})
    (asked,) = required(shared.wait_idle("requires_action"))
    shared.send({"type": "user.interrupt"})
    shared.wait_idle("end_turn")
    events = checked(shared)
    (answer,) = [event for event in events if event["type"] == "user.tool_confirmation"]
    assert (answer["tool_use_id"], answer["result"]) == (asked, "deny")
    refused = shared.answer("POST", f"{shared.path}/events", {"events": [allow(asked)]})
    assert refused.status_code == 400


def test_a_thread_has_its_own_custom_tools_which_the_sessions_client_runs(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", WEATHER))
    call(shared, {"agent": "Helper", "message": '[custom name=get_weather input={"city":"Oslo"}] It is so.'})
    (asked,) = required(shared.wait_idle("requires_action"))
    (use,) = [event for event in shared.events() if event["type"] == "agent.custom_tool_use"]
    assert (use["id"], use["name"], use["session_thread_id"]) == (asked, "get_weather", threads(shared)[0]["id"])
    result = {"custom_tool_use_id": asked, "content": [{"type": "text", "text": "Sunny"}]}
    shared.send({"type": "user.custom_tool_result", **result})
    shared.wait_idle("end_turn")
    assert results(shared)[0]["reply"] == "It is so."
    checked(shared)


def test_a_batch_that_is_refused_answers_no_thread(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", WEATHER))
    call(shared, {"agent": "Helper", "message": '[custom name=get_weather input={"city":"Oslo"}] It is so.'})
    (asked,) = required(shared.wait_idle("requires_action"))
    answer = {"type": "user.custom_tool_result", "custom_tool_use_id": asked, "content": []}
    refused = [
        {"type": "user.custom_tool_result", "custom_tool_use_id": "sevt_unknown", "content": []},
        {"type": "system.message", "content": [{"type": "text", "text": "Be brief."}]},
        {"type": "user.interrupt", "session_thread_id": "sthr_unknown"},
    ]
    before = shared.events()
    for other in refused:
        response = shared.answer("POST", f"{shared.path}/events", {"events": [answer, other]})
        assert response.status_code == 400, response.text
    (child,) = sessions_of_threads(shared)
    asks = shared.universal_call("GET", f"/sessions/{child['sessionId']}/asks")["asks"]
    assert len(cast("list[Event]", asks)) == 1, "the thread still asks"
    assert shared.events() == before
    shared.send(answer)
    shared.wait_idle("end_turn")
    checked(shared)


def test_an_ask_of_a_thread_can_be_answered_in_its_own_session(shared: Raw) -> None:
    coordinate(shared, member(shared, "Careful", ASKING))
    call(shared, {"agent": "Careful", "message": "[tool command='echo asked'] Ran."})
    shared.wait_idle("requires_action")
    (child,) = sessions_of_threads(shared)
    path = f"/sessions/{child['sessionId']}"
    (ask,) = cast("list[Event]", shared.universal_call("GET", f"{path}/asks")["asks"])
    shared.post_universal(f"{path}/permissions/{ask['askId']}/reply", {"reply": "once"})
    shared.wait_idle("end_turn")
    assert kinds(checked(shared)).count("user.tool_confirmation") == 1
    assert results(shared)[0]["reply"] == "Ran."


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_what_a_thread_asks_survives_a_restart(own: DaemonProcess, raw: Raw, how: How) -> None:
    coordinate(raw, member(raw, "Careful", ASKING))
    call(raw, {"agent": "Careful", "message": "[tool command='echo asked']"})
    asked = required(raw.wait_idle("requires_action"))
    restart(own, how)
    assert required(raw.wait_idle("requires_action")) == asked
    raw.send(allow(asked[0]))
    raw.wait_idle("end_turn")
    events = checked(raw)
    reply = [event for event in events if event["type"] == "agent.thread_message_received"]
    assert len(reply) == 1, "the coordinator gets the reply in a turn of its own"
    assert "has replied" in str([event["content"] for event in events if event["type"] == "agent.message"][-1])
    assert kinds(events).count("user.message") == 1, "which is no message of the user"
    assert [each["status"] for each in threads(raw)] == ["idle"]


def test_an_interrupt_after_a_restart_withdraws_what_a_thread_asks(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Careful", ASKING))
    call(raw, {"agent": "Careful", "message": "[tool command='echo asked']"})
    raw.wait_idle("requires_action")
    restart(own, "killed")
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    (answer,) = [event for event in checked(raw) if event["type"] == "user.tool_confirmation"]
    assert answer["result"] == "deny"
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    checked(raw)


def test_the_key_of_the_session_pays_for_its_threads(shared: Raw) -> None:
    made = shared.post_universal("/keys", {"name": "payer", "scopes": ["run", "read"]})
    shared.use(str(made["secret"]))
    coordinate(shared, member(shared, "Helper", TOOLSET))
    call(shared, {"agent": "Helper", "message": "[text words=2000]"})
    shared.wait_idle("end_turn")
    (child,) = sessions_of_threads(shared)
    shared.use(TOKEN)
    (key,) = [
        each for each in cast("list[Event]", shared.universal_call("GET", "/keys")["keys"]) if each["name"] == "payer"
    ]
    assert cast("float", child["costUsd"]) > 0
    total = cast("float", child["costUsd"]) + cast("float", shared.universal_call("GET", shared.path)["costUsd"])
    assert key["spentUsd"] == pytest.approx(total)


def test_a_thread_goes_on_after_its_daemon_was_killed(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Helper", TOOLSET))
    call(raw, {"agent": "Helper", "message": "[hello] [slow seconds=600]"})
    wait_until(lambda: any("agent.message" in kinds(on_thread(raw, str(each["id"]))) for each in threads(raw)))
    (thread,) = threads(raw)
    restart(own, "killed")
    raw.wait_idle("retries_exhausted")
    assert [each["status"] for each in threads(raw)] == ["idle"]
    call(raw, {"thread_id": thread["id"], "message": "[whoami]"})
    raw.wait_idle("end_turn")
    assert "turn: 2" in str(results(raw)[-1]["reply"])
    checked(raw)


def test_threads_end_with_their_session(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", TOOLSET))
    call(shared, {"agent": "Helper", "message": "Done."})
    shared.wait_idle("end_turn")
    (child,) = sessions_of_threads(shared)
    listed = cast("list[Event]", shared.call("GET", "/sessions?limit=100")["data"])
    assert child["sessionId"] == threads(shared)[0]["id"]
    assert child["sessionId"] not in [each["id"] for each in listed]
    shared.call("POST", f"{shared.path}/archive")
    assert [each["status"] for each in sessions_of_threads(shared)] == ["ended"]
    assert [each["status"] for each in threads(shared)] == ["terminated"]
    shared.call("DELETE", shared.path)
    assert sessions_of_threads(shared) == []
    assert shared.answer("GET", f"/sessions/{child['sessionId']}").status_code == 404


def test_a_thread_counts_against_the_budget_of_the_session(shared: Raw) -> None:
    coordinate(shared, member(shared, "Helper", TOOLSET), budget=budget("0.5"))
    call(shared, {"agent": "Helper", "message": "[text words=3000] [slow seconds=600]"})
    shared.wait_idle("budget_reached")
    wait_until(lambda: {each["status"] for each in sessions_of_threads(shared)} <= {"idle", "hibernated"})
    usage = cast("dict[str, dict[str, str]]", shared.call("GET", shared.path)["usage"])
    assert float(usage["list_cost"]["amount"]) >= 0.5
    checked(shared)


def test_a_roster_names_each_agent_once() -> None:
    agent = {
        "id": "agent_1",
        "type": "agent",
        "version": 1,
        "name": "A",
        "description": "Reads.",
        "model": {"id": "m", "speed": "standard"},
        "system": None,
        "tools": [],
        "mcp_servers": [],
        "skills": [],
        "execution_identity": {"type": "service_account"},
    }
    roster = [agent, {"type": "advisor", "model": "m"}, {**agent, "id": "agent_2"}]
    members = members_of({"multiagent": {"type": "coordinator", "agents": roster}})
    assert [(each.name, each.agent.id) for each in members] == [("A", "agent_1"), ("A 2", "agent_2")]
    assert "- A: Reads." in roster_tool(members).description
    enabled = {"type": "enabled", "inline_agents": {"type": "enabled"}, "predefined_agents": [agent]}
    assert len(members_of({"multiagent": {"type": "multiagent_20261001", "subagents": enabled}})) == 1
    assert members_of({"multiagent": {"type": "multiagent_20261001", "subagents": {"type": "disabled"}}}) == []
    assert members_of({"multiagent": None}) == []


def test_a_copy_of_the_coordinator_has_the_sessions_overrides(shared: Raw) -> None:
    multiagent = {"type": "coordinator", "agents": [{"type": "self"}]}
    coordinator = member(shared, "Lead", TOOLSET, system="You lead.", multiagent=multiagent)
    place = shared.call("POST", "/environments", {"name": f"for {coordinator}"})
    chosen = {"type": "agent_with_overrides", "id": coordinator, "system": "You lead today."}
    made = shared.call("POST", "/sessions", {"agent": chosen, "environment_id": place["id"]})
    shared.session_id = str(made["id"])
    call(shared, {"agent": "Lead", "message": "[whoami]"})
    shared.wait_idle("end_turn")
    reply = str(results(shared)[0]["reply"])
    assert "You lead today." in reply
    assert "call_agents" not in reply, "it has no roster of its own"
    checked(shared)
