"""A self-hosted environment: the client confirms and executes the tools of the toolset."""

import json
import uuid

from loose import Loose
from real import vault_of
from stage import Talk, message, new_agent, one, types

ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}


def flow(client: Loose, agent: str, model: str, variables: str, look: str, says: str) -> None:
    """`look` makes the agent call its own shell and then the client's, with `uname`. `says` is in its last message."""
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
    assert says in text_of(allow_tool(talk, look))
    assert says in text_of(deny_tool(talk, look))
    talk.close()


def text_of(events: list[Loose]) -> str:
    return "".join(str(event.content[0].text) for event in events if event.type == "agent.message")


def requested_use(talk: Talk, look: str) -> Loose:
    received = talk.say(message(look))
    use = [event for event in received if event.type == "agent.tool_use" and event.evaluated_permission == "ask"][-1]
    assert (use.name, use.input) == ("bash", {"command": "uname"})
    assert (received[-1].stop_reason.type, received[-1].stop_reason.event_ids) == ("requires_action", [use.id])
    return use


def allow_tool(talk: Talk, look: str) -> list[Loose]:
    use = requested_use(talk, look)
    received = talk.say({"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"})
    assert types(received) == ["user.tool_confirmation", "session.status_idle"]
    assert received[-1].stop_reason.event_ids == [use.id], "its result is required now"
    result = {"type": "user.tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "Plan 9"}]}
    received = talk.say(result)
    assert types(received)[:2] == ["user.tool_result", "session.status_running"]
    assert received[-1].stop_reason.type == "end_turn"
    return received


def deny_tool(talk: Talk, look: str) -> list[Loose]:
    use = requested_use(talk, look)
    received = talk.say(
        {"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "deny", "deny_message": "Not there."}
    )
    assert one(received, "agent.tool_result").tool_use_id == use.id
    assert received[-1].stop_reason.type == "end_turn"
    return received
