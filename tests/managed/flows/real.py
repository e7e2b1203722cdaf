"""Events of a real agent through the SDK. Its model is scripted for these messages in this order."""

import json

from loose import Loose
from stage import TOOLSET, WEATHER, Talk, environment, message, new_agent, one, types

ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}
SUMS = {
    "type": "mcp_toolset",
    "mcp_server_name": "sums",
    "default_config": {"permission_policy": {"type": "always_allow"}},
}


def flow(client: Loose, agent: str, model: str, helpers: str, variables: str, sums: str, can: str) -> None:
    """`can` lists the optional steps that the agent supports. `helpers` is the model that can start sub-agents."""
    vaults = [vault_of(client, json.loads(variables))]
    core(client, agent, model, vaults)
    made = client.beta.agents.create(
        name="Worker",
        model=model,
        tools=[TOOLSET, SUMS],
        mcp_servers=[{"type": "url", "name": "sums", "url": sums}],
        metadata={"everyagent.agent": agent},
    )
    talk = open_session(client, made.id, vaults)
    call_mcp_tool(talk)
    send_system_message(talk)
    for step in (ask_question, compact, retry):
        if step.__name__ in can.split():
            step(talk)
    define_outcome(talk)
    if helpers:
        other = helpers != model
        helped = open_session(client, new_agent(client, agent, [TOOLSET], helpers).id, vaults) if other else talk
        received = delegate(client, helped, asked=agent != "codex")
        assert ("session.thread_status_rescheduled" in types(received)) == ("helpers_retry" in can.split())
    reach_budget(client, talk)
    fail_turn(talk)
    archive(client, talk)
    delete(client, open_session(client, made.id, vaults))


def vault_of(client: Loose, variables: dict[str, str]) -> object:
    """A vault with the variables that the agent needs to reach its model."""
    vault = client.beta.vaults.create(display_name="model")
    for name, value in variables.items():
        auth = {"type": "environment_variable", "secret_name": name, "secret_value": value}
        client.beta.vaults.credentials.create(vault.id, auth={**auth, "networking": {"type": "unrestricted"}})
    return vault.id


def open_session(client: Loose, agent: object, vaults: list[object], **more: object) -> Talk:
    """A session with a title, so that no generated title interferes."""
    session = client.beta.sessions.create(
        agent=agent, environment_id=environment(client), vault_ids=vaults, title="Real"
    )
    return Talk(client, session.id, **more)


# -- core: confirmation, custom tool, interrupt -------------------------------------------------------------------


def core(client: Loose, agent: str, model: str, vaults: list[object]) -> None:
    made = new_agent(client, agent, [ASKING, WEATHER], model)
    talk = open_session(client, made.id, vaults, event_deltas=["agent.message", "agent.thinking"])
    return_tool_result(talk, confirm_tool(talk))
    interrupt(talk)
    client.beta.sessions.update(talk.session_id, title="Really")
    assert talk.until("session.updated")[-1].title == "Really"
    received = [event.id for event in client.beta.sessions.events.list(talk.session_id)]
    assert len(set(received)) == len(received)
    talk.close()


def confirm_tool(talk: Talk) -> object:
    """Returns the id of the custom tool's use, which comes next."""
    received = talk.say(message("Make it, and tell the weather"))
    use = one(received, "agent.tool_use")
    assert (use.name, use.evaluated_permission) == ("bash", "ask")
    assert (received[-1].stop_reason.type, received[-1].stop_reason.event_ids) == ("requires_action", [use.id])
    received = talk.say({"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"})
    assert one(received, "agent.tool_result").tool_use_id == use.id
    custom = one(received, "agent.custom_tool_use")
    assert (custom.name, custom.input) == ("get_weather", {"city": "Oslo"})
    assert received[-1].stop_reason.event_ids == [custom.id]
    return custom.id


def return_tool_result(talk: Talk, use: object) -> None:
    result = {"type": "user.custom_tool_result", "custom_tool_use_id": use}
    received = talk.say({**result, "content": [{"type": "text", "text": "sunny"}]})
    assert types(received)[-2:] == ["span.model_request_end", "session.status_idle"]
    assert received[-1].stop_reason.type == "end_turn"
    assert one(received, "agent.message").content[0].text == "Made."


def interrupt(talk: Talk) -> None:
    assert talk.say(message("Once more"))[-1].stop_reason.type == "requires_action"
    received = talk.say({"type": "user.interrupt"})
    assert received[-1].stop_reason.type == "end_turn"
    assert one(received, "user.tool_confirmation").result == "deny"


# -- steps of every agent -----------------------------------------------------------------------------------------


def call_mcp_tool(talk: Talk) -> None:
    received = talk.say(message("Add them"))
    use, result = one(received, "agent.mcp_tool_use"), one(received, "agent.mcp_tool_result")
    assert (use.mcp_server_name, use.name, use.input) == ("sums", "add", {"a": 2, "b": 3})
    assert (result.mcp_tool_use_id, result.content[0].text) == (use.id, "5")
    assert len([event for event in received if event.type == "span.model_request_end"]) == 2


def send_system_message(talk: Talk) -> None:
    system = {"type": "system.message", "content": [{"type": "text", "text": "THE PASSWORD IS SWORDFISH"}]}
    received = talk.say(message("What is the password?"), system)
    assert types(received)[:3] == ["user.message", "system.message", "session.status_running"]
    assert one(received, "agent.message").content[0].text == "Swordfish."


def define_outcome(talk: Talk) -> None:
    rubric = {"type": "text", "content": "It greets."}
    received = talk.say({"type": "user.define_outcome", "description": "Greet the world", "rubric": rubric})
    end = one(received, "span.outcome_evaluation_end")
    assert (end.result, end.explanation) == ("satisfied", "It does.")
    assert end.usage.input_tokens > 0
    assert "span.outcome_evaluation_ongoing" in types(received)


def reach_budget(client: Loose, talk: Talk) -> None:
    """The second request hangs, so the cost of the first one ends the turn."""
    client.beta.sessions.update(talk.session_id, budget=budget_above_cost(client, talk))
    received = talk.say(message("Spend it"))
    assert types(received)[-2:] == ["session.usage", "session.status_idle"]
    assert received[-1].stop_reason.type == "budget_reached"
    client.beta.sessions.update(talk.session_id, budget=None)


def budget_above_cost(client: Loose, talk: Talk) -> dict[str, object]:
    spent = float(str(client.beta.sessions.retrieve(talk.session_id).usage.list_cost.amount))
    assert spent > 0, "what was used until now has its cost"
    return {"type": "limit", "max_list_cost": {"amount": f"{spent + 0.0001:.4f}", "currency": "USD"}}


def fail_turn(talk: Talk) -> None:
    received = talk.say(message("Fall"))
    error = [event for event in received if event.type == "session.error"][-1].error
    assert error.retry_status.type == "exhausted"
    assert received[-1].stop_reason.type == "retries_exhausted"


def archive(client: Loose, talk: Talk) -> None:
    assert client.beta.sessions.archive(talk.session_id).status == "terminated"
    talk.until("session.status_terminated")
    assert not talk.rest(), "which ends the stream"


def delete(client: Loose, talk: Talk) -> None:
    client.beta.sessions.delete(talk.session_id)
    assert types(talk.rest())[-2:] == ["session.status_terminated", "session.deleted"]


# -- optional steps -----------------------------------------------------------------------------------------------


def ask_question(talk: Talk) -> None:
    received = talk.say(message("Ask me"))
    use = one(received, "agent.custom_tool_use")
    assert (use.name, received[-1].stop_reason.event_ids) == ("ask_user_question", [use.id])
    answer = {"type": "user.custom_tool_result", "custom_tool_use_id": use.id}
    received = talk.say({**answer, "content": [{"type": "text", "text": "Green"}]})
    assert one(received, "agent.message").content[0].text == "Green it is."


def compact(talk: Talk) -> None:
    received = talk.say(message("/compact"))
    assert received[-1].stop_reason.type == "end_turn"
    assert one(received, "agent.thread_context_compacted")


def retry(talk: Talk) -> None:
    received = talk.say(message("Stumble"))
    order = [kind for kind in types(received) if kind.startswith("session.")]
    assert order == [
        "session.status_running",
        "session.error",
        "session.status_rescheduled",
        "session.status_running",
        "session.status_idle",
    ]
    assert one(received, "session.error").error.retry_status.type == "retrying"
    ends = [event for event in received if event.type == "span.model_request_end"]
    assert [end.is_error for end in ends] == [True, None]
    assert received[-1].stop_reason.type == "end_turn"


def delegate(client: Loose, talk: Talk, *, asked: bool) -> list[Loose]:
    """`asked` is whether the agent reports the prompts of its sub-agents."""
    received = talk.say(message("Ask a helper"))
    assert received[-1].stop_reason.type == "end_turn"
    thread = one(received, "session.thread_created").session_thread_id
    assert "session.thread_status_running" in types(received)
    assert "session.thread_status_idle" in types(received)
    if asked:
        assert one(received, "agent.thread_message_sent").to_session_thread_id == thread
    answers = [event for event in received if event.type == "agent.thread_message_received"]
    assert "There are three." in answers[-1].content[0].text
    inside = list(client.beta.sessions.threads.events.list(thread, session_id=talk.session_id))
    assert "There are three." in str(inside[-2].content)
    kinds = types(inside)
    assert kinds[-1] == "session.thread_status_idle"
    assert kinds.count("span.model_request_start") == kinds.count("span.model_request_end") >= 1
    client.beta.sessions.threads.archive(thread, session_id=talk.session_id)
    talk.until("session.thread_status_terminated")
    return received
