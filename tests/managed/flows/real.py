"""The core flow on a real agent: confirmed, carried out, told, and interrupted. Its model is scripted for just that."""

import json

from loose import Loose
from stage import WEATHER, Talk, environment, message, new_agent, one, types

ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}


def flow(client: Loose, agent: str, model: str, variables: str) -> None:
    made = new_agent(client, agent, [ASKING, WEATHER], model)
    vaults = [vault_of(client, json.loads(variables))]
    place = environment(client)
    # With a title of its own: one that the agent thinks of may come at any time.
    session = client.beta.sessions.create(agent=made.id, environment_id=place, vault_ids=vaults, title="Real")
    talk = Talk(client, session.id, event_deltas=["agent.message", "agent.thinking"])
    carries_out(talk, confirms(talk))
    is_interrupted(talk)
    client.beta.sessions.update(session.id, title="Really")
    assert talk.until("session.updated")[-1].title == "Really"
    heard = [event.id for event in client.beta.sessions.events.list(session.id)]
    assert len(set(heard)) == len(heard)
    talk.close()


def vault_of(client: Loose, variables: dict[str, str]) -> object:
    """What the agent needs to reach its model."""
    vault = client.beta.vaults.create(display_name="model")
    for name, value in variables.items():
        auth = {"type": "environment_variable", "secret_name": name, "secret_value": value}
        client.beta.vaults.credentials.create(vault.id, auth={**auth, "networking": {"type": "unrestricted"}})
    return vault.id


def confirms(talk: Talk) -> object:
    """The custom tool's use, which comes next."""
    heard = talk.say(message("Make it, and tell the weather"))
    use = one(heard, "agent.tool_use")
    assert (use.name, use.evaluated_permission) == ("bash", "ask")
    assert (heard[-1].stop_reason.type, heard[-1].stop_reason.event_ids) == ("requires_action", [use.id])
    heard = talk.say({"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"})
    assert one(heard, "agent.tool_result").tool_use_id == use.id
    custom = one(heard, "agent.custom_tool_use")
    assert (custom.name, custom.input) == ("get_weather", {"city": "Oslo"})
    assert heard[-1].stop_reason.event_ids == [custom.id]
    return custom.id


def carries_out(talk: Talk, use: object) -> None:
    result = {"type": "user.custom_tool_result", "custom_tool_use_id": use}
    heard = talk.say({**result, "content": [{"type": "text", "text": "sunny"}]})
    assert types(heard)[-2:] == ["span.model_request_end", "session.status_idle"]
    assert heard[-1].stop_reason.type == "end_turn"
    assert one(heard, "agent.message").content[0].text == "Made."


def is_interrupted(talk: Talk) -> None:
    assert talk.say(message("Once more"))[-1].stop_reason.type == "requires_action"
    heard = talk.say({"type": "user.interrupt"})
    assert heard[-1].stop_reason.type == "end_turn"
    assert one(heard, "user.tool_confirmation").result == "deny"
