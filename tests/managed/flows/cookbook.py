"""The calls of the notebooks in Anthropic's cookbook of managed agents, as flows of our own."""

import json
import time
import uuid

from loose import Loose
from seen import saw
from stage import TOOLSET, environment, message, new_agent

RECEIPTS = [f"r{number}" for number in range(12)]


def flow(client: Loose, agent: str = "mock") -> None:
    decide_in_parallel(client, agent)
    approve_later(client, agent)
    pin_and_roll_back(client, agent)
    fetch_a_report(client, agent)
    mount_while_it_lives(client, agent)


def tool(name: str) -> dict[str, object]:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    return {"type": "custom", "name": name, "description": f"Call it to {name}.", "input_schema": schema}


def call(name: str, id: str) -> str:
    return f"[custom name={name} input={json.dumps({'id': id}, separators=(',', ':'))}]"


def result(use: object, value: object) -> dict[str, object]:
    content = [{"type": "text", "text": json.dumps(value)}]
    return {"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": content}


def decide_in_parallel(client: Loose, agent: str) -> None:
    """Twelve calls in one message, each answered once by a client that remembers what it answered."""
    made = new_agent(client, agent, [TOOLSET, tool("decide"), tool("escalate")])
    session = client.beta.sessions.create(
        agent={"type": "agent", "id": made.id, "version": made.version}, environment_id=environment(client)
    )
    uses: dict[object, Loose] = {}
    decided: dict[object, Loose] = {}
    answered: set[object] = set()
    with client.beta.sessions.events.stream(session.id) as stream:
        asked = " ".join(call("escalate" if id in ("r3", "r7") else "decide", id) for id in RECEIPTS)
        client.beta.sessions.events.send(session.id, events=[message(asked)])
        for event in saw(stream):
            if event.type == "agent.custom_tool_use":
                uses[event.id] = event
            elif event.type == "session.status_idle":
                if event.stop_reason.type == "end_turn":
                    break
                for id in event.stop_reason.event_ids:
                    if id not in answered:
                        answered.add(id)
                        decided[uses[id].input["id"]] = uses[id].name
                        client.beta.sessions.events.send(session.id, events=[result(id, {"recorded": True})])
    assert list(decided) == RECEIPTS
    assert [id for id, name in decided.items() if name == "escalate"] == ["r3", "r7"]
    assert client.beta.sessions.archive(session.id).archived_at is not None, "the session is idle at once"
    assert client.beta.agents.archive(made.id).archived_at is not None


def approve_later(client: Loose, agent: str) -> None:
    """No stream: the client polls the log, and answers one call long after the other."""
    made = new_agent(client, agent, [tool("open"), tool("approve")])
    session = client.beta.sessions.create(agent=made.id, environment_id=environment(client))
    client.beta.sessions.events.send(session.id, events=[message(f"{call('open', 'a')} {call('approve', 'a')}")])
    opened, approved = polled(client, session.id, "requires_action").stop_reason.event_ids
    client.beta.sessions.events.send(session.id, events=[result(opened, {"number": 1})])
    assert polled(client, session.id, "requires_action", but=[opened]).stop_reason.event_ids == [approved]
    assert client.beta.sessions.retrieve(session.id).status == "idle"
    client.beta.sessions.events.send(session.id, events=[result(approved, {"decision": "approved"})])
    polled(client, session.id, "end_turn")
    client.beta.sessions.archive(session.id)


def polled(client: Loose, session: object, stop: str, but: list[object] | None = None) -> Loose:
    """The latest idle event once it has this reason, and requires none of the actions in `but`."""
    while True:
        events = list(saw(client.beta.sessions.events.list(session)))
        statuses = [event for event in events if str(event.type).startswith("session.status_")]
        reasons = [event.stop_reason for event in statuses[-1:] if event.type == "session.status_idle"]
        if [reason for reason in reasons if reason.type == stop and not (but and but[0] in reason.event_ids)]:
            return statuses[-1]
        time.sleep(0.02)


def pin_and_roll_back(client: Loose, agent: str) -> None:
    """Sessions of two versions of an agent, and one of the first again."""
    first = new_agent(client, agent)
    second = client.beta.agents.update(first.id, version=first.version, system="Answer with JSON only.")
    assert (first.version, second.version) == (1, 2)
    for version in (1, 2, 1):
        pinned = {"type": "agent", "id": first.id, "version": version}
        session = client.beta.sessions.create(agent=pinned, environment_id=environment(client))
        assert session.agent.version == version
        client.beta.sessions.events.send(session.id, events=[message("[hello]")])
        polled(client, session.id, "end_turn")
        client.beta.sessions.archive(session.id)
    assert [each.version for each in client.beta.agents.versions.list(first.id)] == [2, 1]


def fetch_a_report(client: Loose, agent: str) -> None:
    """The agent writes an output, which the client lists beside its own upload, and downloads."""
    upload = client.beta.files.upload(file=("sales.csv", b"a,b\n1,2\n", "text/csv"))
    mount = {"type": "file", "file_id": upload.id, "mount_path": "/mnt/session/uploads/sales.csv"}
    made = new_agent(client, agent)
    session = client.beta.sessions.create(agent=made.id, environment_id=environment(client), resources=[mount])
    with client.beta.sessions.events.stream(session.id) as stream:
        text = '[tool command="wc -l < mnt/session/uploads/sales.csv > mnt/session/outputs/report.html"]'
        client.beta.sessions.events.send(session.id, events=[message(text)])
        for event in saw(stream):
            if event.type == "session.status_idle":
                break
    files = {str(file.filename): file for file in client.beta.files.list(scope_id=session.id)}
    assert set(files) == {"sales.csv", "report.html"}
    assert client.beta.files.download(files["report.html"].id).read() == b"2\n"


def mount_while_it_lives(client: Loose, agent: str) -> None:
    """Files are added to a session and taken away between its turns."""
    made = new_agent(client, agent)
    place = client.beta.environments.create(
        name=f"cookbook {uuid.uuid4()}", config={"type": "cloud", "networking": {"type": "limited"}}
    )
    session = client.beta.sessions.create(agent=made.id, environment_id=place.id, title="Grounding")
    upload = client.beta.files.upload(file=("repo.zip", b"PK", "application/zip"))
    added = client.beta.sessions.resources.add(
        session.id, type="file", file_id=upload.id, mount_path="/mnt/session/uploads/repo.zip"
    )
    assert [each.id for each in client.beta.sessions.resources.list(session.id)] == [added.id]
    client.beta.sessions.resources.delete(added.id, session_id=session.id)
    assert list(client.beta.sessions.resources.list(session.id)) == []
    client.beta.sessions.archive(session.id)
    client.beta.environments.archive(place.id)
    client.beta.agents.archive(made.id)
