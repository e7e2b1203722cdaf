"""A coordinator, and the agents of its roster as threads of its session."""

import json
from collections.abc import Mapping

from loose import Loose
from stage import TOOLSET, Talk, environment, message, new_agent, one, types

ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}


def flow(client: Loose, agent: str = "mock") -> None:
    reviewer = member(client, agent, "Reviewer", [TOOLSET], system="You review.")
    careful = member(client, agent, "Careful", [ASKING])
    session = coordinated(client, agent, reviewer, careful)
    talk = Talk(client, session.id)
    thread = delegate(client, talk, reviewer)
    continue_thread(client, talk, thread)
    work_in_parallel(client, talk)
    confirm_in_thread(client, talk)
    archive_thread(client, talk, thread)
    talk.close()


def member(client: Loose, agent: str, name: str, tools: list[object], **more: object) -> Loose:
    metadata = {"everyagent.agent": agent}
    return client.beta.agents.create(name=name, model="mock-large", tools=tools, metadata=metadata, **more)


def coordinated(client: Loose, agent: str, *roster: Loose) -> Loose:
    coordinator = new_agent(client, agent)
    multiagent = {"type": "coordinator", "agents": [each.id for each in roster]}
    client.beta.agents.update(coordinator.id, version=coordinator.version, multiagent=multiagent)
    return client.beta.sessions.create(agent=coordinator.id, environment_id=environment(client))


def call(*tasks: Mapping[str, object]) -> dict[str, object]:
    return message(f"[custom name=call_agents input={json.dumps({'tasks': list(tasks)})}]")


def delegate(client: Loose, talk: Talk, reviewer: Loose) -> str:
    received = talk.say(call({"agent": "Reviewer", "message": "Look at [whoami]"}))
    created = one(received, "session.thread_created")
    assert created.agent_name == "Reviewer"
    order = [kind for kind in types(received) if "thread" in kind or "status" in kind]
    assert order == [
        "session.status_running",
        "session.thread_created",
        "agent.thread_message_sent",
        "session.thread_status_running",
        "agent.thread_message_received",
        "session.thread_status_idle",
        "session.status_idle",
    ], order
    assert received[-1].stop_reason.type == "end_turn"
    assert "agent.custom_tool_use" not in types(received)
    sent, reply = one(received, "agent.thread_message_sent"), one(received, "agent.thread_message_received")
    assert (sent.to_session_thread_id, sent.to_agent_name) == (created.session_thread_id, "Reviewer")
    assert (reply.from_session_thread_id, reply.from_agent_name) == (created.session_thread_id, "Reviewer")
    assert "You review." in reply.content[0].text
    primary, thread = client.beta.sessions.threads.list(talk.session_id).data
    assert (primary.parent_thread_id, thread.parent_thread_id) == (None, primary.id)
    assert (thread.id, thread.status) == (created.session_thread_id, "idle")
    assert (thread.agent.id, thread.agent.name, thread.agent.system) == (reviewer.id, "Reviewer", "You review.")
    assert thread.agent.model.id == "mock-large"
    assert thread.usage.input_tokens > 0
    total = client.beta.sessions.retrieve(talk.session_id).usage.input_tokens
    assert int(str(total)) == int(str(primary.usage.input_tokens)) + int(str(thread.usage.input_tokens))
    return str(thread.id)


def continue_thread(client: Loose, talk: Talk, thread: str) -> None:
    received = talk.say(call({"thread_id": thread, "message": "And now? [whoami]"}))
    assert "session.thread_created" not in types(received)
    text = one(received, "agent.thread_message_received").content[0].text
    assert "turn: 2" in text, text
    own = client.beta.sessions.threads.events.list(thread, session_id=talk.session_id).data
    assert types(own)[:2] == ["agent.thread_message_received", "session.thread_status_running"], types(own)
    assert types(own)[-2:] == ["agent.thread_message_sent", "session.thread_status_idle"]
    assert "user.message" not in types(own)
    assert own[0].content[0].text == "Look at [whoami]"
    assert own[0].from_session_thread_id != thread


def work_in_parallel(client: Loose, talk: Talk) -> None:
    tasks = [{"agent": "Reviewer", "message": f"[tool command='echo {word}'] {word}"} for word in ("one", "two")]
    received = talk.say(call(*tasks))
    assert types(received).count("session.thread_created") == 2
    replies = [event.content[0].text for event in received if event.type == "agent.thread_message_received"]
    assert sorted(replies) == ["one", "two"]
    assert "agent.tool_use" not in types(received), "a thread's calls are in its own events"


def confirm_in_thread(client: Loose, talk: Talk) -> None:
    received = talk.say(call({"agent": "Careful", "message": "[tool command='echo asked']"}))
    use = one(received, "agent.tool_use")
    thread = str(use.session_thread_id)
    assert use.evaluated_permission == "ask"
    assert one(received, "session.thread_status_idle").stop_reason.event_ids == [use.id]
    assert received[-1].stop_reason.event_ids == [use.id]
    assert client.beta.sessions.retrieve(talk.session_id).status == "idle"
    confirmation = {"type": "user.tool_confirmation", "tool_use_id": use.id, "result": "allow"}
    received = talk.say(confirmation)
    assert one(received, "user.tool_confirmation").session_thread_id == thread
    assert types(received)[1] == "session.status_running"
    assert received[-1].stop_reason.type == "end_turn"
    talk.send(confirmation)
    own = client.beta.sessions.threads.events.list(thread, session_id=talk.session_id).data
    (asked,) = [event for event in own if event.type == "agent.tool_use"]
    assert (asked.id, asked.session_thread_id) == (use.id, None)
    assert "asked" in str(one(own, "agent.tool_result").content)
    assert "user.tool_confirmation" in types(own)


def archive_thread(client: Loose, talk: Talk, thread: str) -> None:
    archived = client.beta.sessions.threads.archive(thread, session_id=talk.session_id)
    assert archived.status == "terminated"
    received = talk.say(call({"thread_id": thread, "message": "Hello?"}))
    assert "agent.thread_message_sent" not in types(received)
    listed = [session.id for session in client.beta.sessions.list(limit=100).data]
    assert talk.session_id in listed
    assert len(listed) == len(set(listed))
    streamed = client.beta.sessions.threads.events.stream(thread, session_id=talk.session_id)
    assert list(streamed) == [], "the stream of a thread that has ended ends"
