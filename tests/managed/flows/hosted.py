"""A self-hosted environment: the client carries out the toolset, after what is always asked for was confirmed."""

import json
import uuid

from loose import Loose
from real import vault_of
from stage import Talk, message, new_agent, one, types

ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}


def flow(client: Loose, agent: str, model: str, variables: str, look: str, says: str) -> None:
    """`look` makes the agent try its own shell and then the client's, with `uname`; `says` is its last word then."""
    config = {"type": "self_hosted"}
    place = client.beta.environments.create(name=f"mine {uuid.uuid4()}", config=config)
    assert place.config.type == "self_hosted"
    made = new_agent(client, agent, [ASKING], model)
    given = json.loads(variables)
    session = client.beta.sessions.create(
        agent=made.id,
        environment_id=place.id,
        title="Hosted",
        vault_ids=[vault_of(client, given)] if given else [],
    )
    talk = Talk(client, session.id)
    assert says in said(allowed(talk, look))
    assert says in said(denied(talk, look))
    talk.close()


def said(events: list[Loose]) -> str:
    return "".join(str(event.content[0].text) for event in events if event.type == "agent.message")


def asked(talk: Talk, look: str) -> Loose:
    heard = talk.say(message(look))
    use = [event for event in heard if event.type == "agent.tool_use" and event.evaluated_permission == "ask"][-1]
    assert (use.name, use.input) == ("bash", {"command": "uname"})
    assert (heard[-1].stop_reason.type, heard[-1].stop_reason.event_ids) == ("requires_action", [use.id])
    return use


def allowed(talk: Talk, look: str) -> list[Loose]:
    use = asked(talk, look)
    heard = talk.say({"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"})
    assert types(heard) == ["user.tool_confirmation", "session.status_idle"]
    assert heard[-1].stop_reason.event_ids == [use.id], "its result is required now"
    result = {"type": "user.tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "Plan 9"}]}
    heard = talk.say(result)
    assert types(heard)[:2] == ["user.tool_result", "session.status_running"]
    assert heard[-1].stop_reason.type == "end_turn"
    return heard


def denied(talk: Talk, look: str) -> list[Loose]:
    use = asked(talk, look)
    heard = talk.say(
        {"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "deny", "deny_message": "Not there."}
    )
    assert one(heard, "agent.tool_result").tool_use_id == use.id
    assert heard[-1].stop_reason.type == "end_turn"
    return heard
