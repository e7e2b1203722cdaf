"""Required actions of a session: confirmations, custom tools and questions, also several at once."""

import json

import anthropic
from loose import Loose
from refused import refused
from stage import TOOLSET, WEATHER, Talk, message, new_session, one, types

#: Older SDKs do not know every event.
NEW = not anthropic.__version__.startswith("0.")
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}


def flow(client: Loose, agent: str = "mock") -> None:
    confirm_tools(client, agent)
    return_custom_tool_results(client, agent)
    answer_questions(client, agent)
    refuse_invalid_events(client, agent)


def confirm_tools(client: Loose, agent: str) -> None:
    session = new_session(client, agent, [ASKING])
    talk = Talk(client, session.id)
    received = talk.say(message('[tool command="echo one"] [tool command="echo two"]'))
    uses = {event.id: event for event in received if event.type == "agent.tool_use"}
    while len(uses) < 2 or len(received[-1].stop_reason.event_ids) < 2:
        received = talk.until("session.status_idle")
        uses |= {event.id: event for event in received if event.type == "agent.tool_use"}
    assert received[-1].stop_reason.type == "requires_action"
    assert set(received[-1].stop_reason.event_ids) == set(uses)
    assert all(use.evaluated_permission == "ask" for use in uses.values())
    assert client.beta.sessions.retrieve(session.id).status == "idle"
    first, second = uses
    received = talk.say({"type": "user.tool_confirmation", "tool_use_id": first, "result": "allow"})
    assert types(received) == ["user.tool_confirmation", "session.status_idle"], (
        "the remaining action is required again"
    )
    assert received[-1].stop_reason.event_ids == [second]
    received = talk.say(
        {"type": "user.tool_confirmation", "tool_use_id": second, "result": "deny", "deny_message": "Not that one."}
    )
    order = types(received)
    assert order[order.index("user.tool_confirmation") + 1] == "session.status_running"
    results = {event.tool_use_id: event for event in received if event.type == "agent.tool_result"}
    assert (results[first].is_error, results[second].is_error) == (None, True)
    assert received[-1].stop_reason.type == "end_turn"
    other = {"type": "user.tool_confirmation", "tool_use_id": first, "result": "deny"}
    refused(anthropic.BadRequestError, lambda: talk.send(other))
    received = talk.say(message('[tool command="sleep 0"]'))
    assert received[-1].stop_reason.type == "requires_action"
    talk.send({"type": "user.interrupt"})
    received = talk.until("session.status_idle")
    assert received[-1].stop_reason.type == "end_turn", "nothing is stuck"
    assert one(received, "user.tool_confirmation").result == "deny"
    talk.close()


def return_custom_tool_results(client: Loose, agent: str) -> None:
    session = new_session(client, agent, [TOOLSET, WEATHER])
    talk = Talk(client, session.id)
    received = talk.say(message('[custom name=get_weather input={"city":"Oslo"}] [custom name=get_weather]'))
    uses = [event for event in received if event.type == "agent.custom_tool_use"]
    while len(uses) < 2 or len(received[-1].stop_reason.event_ids) < 2:
        received = talk.until("session.status_idle")
        uses += [event for event in received if event.type == "agent.custom_tool_use"]
    assert received[-1].stop_reason.event_ids == [use.id for use in uses]
    assert sorted(str(use.input) for use in uses) == ["{'city': 'Oslo'}", "{}"]
    assert not [event for event in received if event.type in ("agent.tool_use", "agent.mcp_tool_use")]
    received = talk.say(
        *(
            {
                "type": "user.custom_tool_result",
                "custom_tool_use_id": use.id,
                "content": [{"type": "text", "text": f"sunny in {use.input.get('city')}"}, PICTURE],
            }
            for use in uses
        )
    )
    assert types(received)[:3] == ["user.custom_tool_result", "user.custom_tool_result", "session.status_running"]
    assert received[-1].stop_reason.type == "end_turn"
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "no base64"}}
    use = one(talk.say(message("[custom name=get_weather]")), "agent.custom_tool_use")
    result = {"type": "user.custom_tool_result", "custom_tool_use_id": use.id}
    refused(anthropic.BadRequestError, lambda: talk.send({**result, "content": [broken]}))
    assert talk.say({**result, "content": [PICTURE]})[-1].stop_reason.type == "end_turn"
    talk.close()


def answer_questions(client: Loose, agent: str) -> None:
    session = new_session(client, agent)
    talk = Talk(client, session.id)
    received = talk.say(message("[question]"))
    use = one(received, "agent.custom_tool_use")
    assert (use.name, received[-1].stop_reason.event_ids) == ("ask_user_question", [use.id])
    prompts = [question["prompt"] for question in use.input["questions"]]
    answer = json.dumps({"answers": [["Green"], ["Tests", "Docs"]]})
    received = talk.say(
        {
            "type": "user.custom_tool_result",
            "custom_tool_use_id": use.id,
            "content": [{"type": "text", "text": answer}],
        }
    )
    assert len(prompts) == 2
    assert "You answered: Green; Tests, Docs." in str([event for event in received if event.type == "agent.message"])
    talk.close()


def refuse_invalid_events(client: Loose, agent: str) -> None:
    session = new_session(client, agent, [ASKING, WEATHER])
    talk = Talk(client, session.id)
    system = {"type": "system.message", "content": [{"type": "text", "text": "Be brief."}]}
    wrong: list[list[object]] = [
        [],
        [system],
        [message("a"), system, message("b")],
        [{"type": "user.interrupt"}, system],
        [{"type": "user.tool_confirmation", "tool_use_id": "sevt_none", "result": "allow"}],
        [message("all or nothing"), {"type": "user.custom_tool_result", "custom_tool_use_id": "sevt_none"}],
        [{"type": "user.tool_result", "tool_use_id": "sevt_none"}],
        [{"type": "user.message", "content": []}],
        [{"type": "user.nonsense"}],
    ]
    for events in wrong:
        refused(anthropic.BadRequestError, lambda events=events: talk.send(*events))
    assert list(client.beta.sessions.events.list(session.id)) == []
    if NEW:
        received = talk.say(message("[whoami]"), system)
        assert types(received)[:3] == ["user.message", "system.message", "session.status_running"]
    received = talk.say(message("[tool]"))
    use = one(received, "agent.tool_use")
    refused(anthropic.BadRequestError, lambda: talk.send(message("more"), system))
    allow = {"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"}
    refused(anthropic.BadRequestError, lambda: talk.send(allow, allow))
    refused(anthropic.BadRequestError, lambda: talk.send({**allow, "deny_message": "no"}))
    key = {"extra_headers": {"Idempotency-Key": f"once {session.id}".replace(" ", "-")}}
    first = client.beta.sessions.events.send(session.id, events=[allow], **key)
    second = client.beta.sessions.events.send(session.id, events=[allow], **key)
    assert first.data[0].id == second.data[0].id
    assert talk.until("session.status_idle")[-1].stop_reason.type == "end_turn"
    talk.close()
