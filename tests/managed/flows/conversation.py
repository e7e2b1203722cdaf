"""The core flow of a session: create, stream, send messages, list events."""

import anthropic
from loose import Loose
from refused import refused
from stage import Talk, message, new_session, one, types

NEW = not anthropic.__version__.startswith("0.")


def flow(client: Loose, agent: str = "mock") -> None:
    session = new_session(client, agent, title="Talk", metadata={"purpose": "test"})
    assert (session.status, session.title, session.archived_at) == ("idle", "Talk", None)
    assert session.agent.name == "Worker"
    talk = Talk(client, session.id, **({"event_deltas": ["agent.message", "agent.thinking"]} if NEW else {}))
    received = talk.say(message('[reasoning] [tool command="echo hi"] [mcp] [hello]'))
    settled = [event for event in received if event.type not in ("event_start", "event_delta")]
    assert types(settled)[:4] == [
        "user.message",
        "session.status_running",
        "span.model_request_start",
        "agent.thinking",
    ]
    assert types(settled)[-2:] == ["span.model_request_end", "session.status_idle"]
    assert settled[-1].stop_reason.type == "end_turn"
    use, result = one(received, "agent.tool_use"), one(received, "agent.tool_result")
    assert (use.name, use.input) == ("bash", {"command": "echo hi"})
    assert (result.tool_use_id, result.content[0].text) == (use.id, "hi\n")
    use, result = one(received, "agent.mcp_tool_use"), one(received, "agent.mcp_tool_result")
    assert (use.mcp_server_name, use.name, result.mcp_tool_use_id) == ("docs", "search", use.id)
    assert client.beta.sessions.retrieve(session.id).status == "idle", "status and event agree"
    check_requests(received, 3)
    check_previews(received)
    queue_message(talk)
    fail_turns(talk)
    compact(talk)
    delegate(client, talk)
    list_events(client, session.id)
    talk.close()


def check_requests(received: list[Loose], count: int) -> None:
    """Each request to the model is a span with its usage. The next one begins after the tools' results."""
    starts = [event.id for event in received if event.type == "span.model_request_start"]
    ends = [event for event in received if event.type == "span.model_request_end"]
    assert [end.model_request_start_id for end in ends] == starts
    assert len(starts) == count
    assert all(end.model_usage.input_tokens and end.model_usage.output_tokens for end in ends)
    use, result = types(received).index("agent.tool_use"), types(received).index("agent.tool_result")
    assert "span.model_request_start" not in types(received)[use:result]


def check_previews(received: list[Loose]) -> None:
    """Previews are in order, add up to the message's text, and precede it."""
    texts: dict[object, str] = {}
    final: set[object] = set()
    for event in received:
        if event.type == "event_start":
            assert event.event.id not in texts
            texts[event.event.id] = ""
        elif event.type == "event_delta":
            assert event.event_id not in final
            texts[event.event_id] += str(event.delta.content.text)
        elif event.type == "agent.message" and event.id in texts:
            final.add(event.id)
            assert texts[event.id] == event.content[0].text
    assert len(final) >= 2 or not NEW


def queue_message(talk: Talk) -> None:
    """A queued message is streamed first without a time, later with one, and listed once."""
    talk.send(message("[slow seconds=30]"))
    talk.until("session.status_running")
    waiting = talk.send(message("[hello] second")).data[0]
    assert waiting.processed_at is None
    talk.send({"type": "user.interrupt"})
    received = talk.until("session.status_idle")
    told = [event for event in received if event.type == "user.message" and event.id == waiting.id]
    assert [event.processed_at is None for event in told] == [True, False]
    assert "user.interrupt" in types(received)
    assert received[-1].stop_reason.type == "end_turn"
    kept = [event for event in talk.client.beta.sessions.events.list(talk.session_id) if event.id == waiting.id]
    assert [event.processed_at is None for event in kept] == [False]


def fail_turns(talk: Talk) -> None:
    received = talk.say(message("[retry times=2 delay_ms=20]"))
    order = [kind for kind in types(received) if kind.startswith("session.")]
    assert order == [
        "session.status_running",
        "session.error",
        "session.status_rescheduled",
        "session.error",
        "session.status_running",
        "session.status_idle",
    ]
    error = next(event for event in received if event.type == "session.error").error
    assert (error.type, error.retry_status.type) == ("model_overloaded_error", "retrying")
    received = talk.say(message("[error code=rate_limited message=enough]"))
    error = one(received, "session.error").error
    assert (error.type, error.retry_status.type, error.message) == ("model_rate_limited_error", "exhausted", "enough")
    assert received[-1].stop_reason.type == "retries_exhausted"
    assert one(received, "span.model_request_end").is_error
    talk.send(message("[slow seconds=1] [error code=rate_limited message=enough]"))
    talk.send(message("[hello]"))
    assert talk.until("session.status_idle")[-1].stop_reason.type == "retries_exhausted"
    assert talk.until("session.status_idle")[-1].stop_reason.type == "end_turn", "the queued message has its turn"


def compact(talk: Talk) -> None:
    assert one(talk.say(message("[compact]")), "agent.thread_context_compacted")


def delegate(client: Loose, talk: Talk) -> None:
    if not hasattr(client.beta.sessions, "threads"):
        return
    received = talk.say(message("[subagent stumbles=true]"))
    order = [kind for kind in types(received) if kind.startswith("session.") and kind != "session.updated"]
    assert order == [
        "session.status_running",
        "session.thread_created",
        "session.thread_status_running",
        "session.error",
        "session.thread_status_rescheduled",
        "session.thread_status_running",
        "session.thread_status_idle",
        "session.status_idle",
    ]
    created = one(received, "session.thread_created")
    nobody = {"type": "user.interrupt", "session_thread_id": "sthr_none"}
    refused(anthropic.BadRequestError, lambda: talk.send(nobody))
    assert one(received, "agent.thread_message_sent").to_session_thread_id == created.session_thread_id
    assert one(received, "agent.thread_message_received").from_session_thread_id == created.session_thread_id
    threads = client.beta.sessions.threads
    primary, child = list(threads.list(talk.session_id))
    assert (primary.parent_thread_id, child.parent_thread_id, child.status) == (None, primary.id, "idle")
    inside = types(threads.events.list(child.id, session_id=talk.session_id))
    assert inside[0] == "agent.thread_message_received"
    assert inside[-2:] == ["agent.thread_message_sent", "session.thread_status_idle"]
    fared = [event.id for event in received if event.type.startswith("session.thread_status_")]
    assert [
        event.id for event in threads.events.list(child.id, session_id=talk.session_id) if event.id in fared
    ] == fared
    assert {"agent.message", "agent.tool_use", "agent.tool_result"} <= set(inside)
    pages = threads.events.list(child.id, session_id=talk.session_id, limit=2)
    assert types(pages) == inside
    assert "I am the sub-agent" not in str(list(client.beta.sessions.events.list(talk.session_id)))
    assert threads.retrieve(child.id, session_id=talk.session_id).id == child.id
    with threads.events.stream(child.id, session_id=talk.session_id) as stream:
        assert stream.response.status_code == 200
    assert threads.archive(child.id, session_id=talk.session_id).archived_at is not None
    assert talk.until("session.thread_status_terminated")
    interrupt_sub_agent(client, talk)


def interrupt_sub_agent(client: Loose, talk: Talk) -> None:
    """An interrupt of a sub-agent does not stop its agent."""
    talk.send(message('[subagent command="tail -f /dev/null"] [hello]'))
    running = one(talk.until("session.thread_status_running"), "session.thread_status_running")
    thread = running.session_thread_id
    talk.send({"type": "user.interrupt", "session_thread_id": thread})
    received = talk.until("session.status_idle")
    assert one(received, "user.interrupt").session_thread_id == thread
    order = types(received)
    assert order.index("session.thread_status_idle") < order.index("agent.message"), "and then its agent speaks"
    assert one(received, "agent.tool_result").is_error
    assert received[-1].stop_reason.type == "end_turn"
    assert "user.interrupt" in types(client.beta.sessions.threads.events.list(thread, session_id=talk.session_id))
    talk.send({"type": "user.interrupt", "session_thread_id": thread})
    assert talk.until("user.interrupt")[-1].session_thread_id == thread, "there is nothing left to stop"


def list_events(client: Loose, session_id: object) -> None:
    events = client.beta.sessions.events
    everything = list(events.list(session_id))
    ids = [event.id for event in everything]
    assert len(set(ids)) == len(ids)
    assert [event.id for event in events.list(session_id, limit=3)] == ids
    assert [event.id for event in events.list(session_id, order="desc", limit=4)] == ids[::-1]
    if NEW:
        wanted = ["agent.message", "session.status_idle"]
        assert [event.id for event in events.list(session_id, types=wanted, limit=2)] == [
            event.id for event in everything if event.type in wanted
        ]
        middle = everything[len(everything) // 2].processed_at
        late = [event.id for event in events.list(session_id, created_at_gte=middle)]
        early = [event.id for event in events.list(session_id, created_at_lt=middle)]
        assert early + late == ids
        refused(anthropic.BadRequestError, lambda: list(events.list(session_id, types=["nonsense"])))
    refused(anthropic.NotFoundError, lambda: list(events.list("sesn_nobody")))
