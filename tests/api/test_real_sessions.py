"""The API with real sessions: a mock agent's turn through every route that shows it."""

import ssl
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import anyio.abc
import apsw
import httpx2
import msgspec
import pytest

from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.client import AnyEvent
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.parts import FileRefPart
from everyagent.sessions.limits import Limits
from tests.api.served import TOKEN, serve_anywhere
from tests.waiting import LIMIT_SECONDS


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    settings = Settings(data_dir=tmp_path / "data", default_agent="mock")
    lazy = LazyManaged()
    async with sessions_of(settings, limits=Limits(), managed=lazy) as sessions, anyio.create_task_group() as tasks:
        app = create_app(sessions, ApiSettings(token=TOKEN), managed=lambda: lazy.managed)

        async def run(*, task_status: anyio.abc.TaskStatus[int]) -> None:
            await serve_anywhere(app, task_status.started)

        port = await tasks.start(run)
        no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        base = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(
            base_url=base, headers={"x-api-key": TOKEN}, verify=no_tls, timeout=LIMIT_SECONDS
        ) as client:
            made = await client.post("/v1/sessions/mine", json={"agent": "mock", "directory": str(tmp_path)})
            assert made.status_code == 200, made.text
            yield client
        tasks.cancel_scope.cancel()


async def turn(client: httpx2.AsyncClient, message: str) -> list[bytes]:
    """Send a message and return the encoded events of its turn."""
    response = await client.post("/v1/sessions/mine/messages/stream", json={"message": message})
    assert response.status_code == 200, response.text
    return [line.removeprefix(b"data: ") for line in response.content.split(b"\n") if line.startswith(b"data: ")]


async def test_a_name_in_tool_policies_that_nothing_has_is_warned_of(client: httpx2.AsyncClient) -> None:
    policies = {"tools": {"bsh": "deny", "bash": "ask"}, "mcp": {"doc": {}, "fine": {}}}
    servers = {name: {"type": "remote", "url": "http://127.0.0.1:9/"} for name in ("docs", "fine")}
    created = await client.post("/v1/sessions", json={"agent": "mock", "toolPolicies": policies, "mcp": servers})
    assert created.status_code == 200, created.text
    warning = created.headers["x-everyagent-warning"]
    assert "toolPolicies.tools.bsh: mock is not known to have this tool; did you mean bash?" in warning
    assert "toolPolicies.mcp.doc: the session has no such MCP server; did you mean docs?" in warning
    assert ("bash:" in warning, "fine" in warning) == (False, False)
    changed = await client.patch("/v1/sessions/mine", json={"toolPolicies": policies})
    assert "toolPolicies.mcp.fine: the session has no such MCP server" in changed.headers["x-everyagent-warning"]
    assert "x-everyagent-warning" not in (await client.patch("/v1/sessions/mine", json={"title": "New"})).headers
    many = {"tools": {f"{number}é" * 50: "deny" for number in range(1000)}}
    created = await client.post("/v1/sessions", json={"agent": "mock", "toolPolicies": many})
    assert created.status_code == 200, created.text
    assert len(created.headers["x-everyagent-warning"]) < 4096


async def test_deltas_that_name_no_role_are_the_text_of_the_agent_alone(client: httpx2.AsyncClient) -> None:
    events = [msgspec.json.decode(event) for event in await turn(client, "Repeat this. [tool command='echo out']")]
    deltas = [event["data"] for event in events if event["type"] == "item.delta"]
    forwarded = "".join(delta["delta"] for delta in deltas if delta["kind"] == "text" and "role" not in delta)
    items = [event["data"]["item"] for event in events if event["type"] == "item.completed"]
    said = [part["text"] for item in items if item["role"] == "assistant" for part in item["content"] if "text" in part]
    assert forwarded == "".join(said) != ""
    assert {(delta["kind"], delta.get("role")) for delta in deltas} == {
        ("text", "user"),
        ("text", None),
        ("tool_input", None),
        ("tool_output", "tool"),
    }


async def test_the_stream_of_all_sessions_has_raw_frames(client: httpx2.AsyncClient) -> None:
    url = "/v1/events/sse?include_raw=true&types=item.completed"
    found: list[AnyEvent] = []
    async with client.stream("GET", url) as feed, anyio.create_task_group() as tasks:
        tasks.start_soon(turn, client, "[hello]")
        lines = feed.aiter_lines()
        found += [decode_event(line.removeprefix("data: ").encode()) async for line in _first(lines, 2)]
    assert [event.type for event in found] == ["item.completed", "item.completed"]
    page = await client.get("/v1/sessions/mine/events?include_raw=true&types=item.completed")
    stored = msgspec.json.decode(page.content)["events"]
    assert [event.raw for event in found] == [event["raw"] for event in stored[:2]]
    assert all(event.raw for event in found)


async def _first(lines: AsyncIterator[str], count: int) -> AsyncIterator[str]:
    async for line in lines:
        if line.startswith("data: "):
            yield line
            count -= 1
        if not count:
            return


async def test_a_turn_is_the_same_bytes_in_every_stream_and_page(client: httpx2.AsyncClient) -> None:
    streamed = await turn(client, "[hello]")
    first, last = decode_event(streamed[0]), decode_event(streamed[-1])
    assert isinstance(last.data, TurnEnded)
    page = await client.get(f"/v1/sessions/mine/events?offset={first.sequence - 1}&limit={len(streamed)}")
    assert page.content.startswith(b'{"events":[' + b",".join(streamed) + b'],"hasMore":')
    followed: list[bytes] = []
    url = "/v1/sessions/mine/events/sse"
    async with client.stream("GET", url, headers={"last-event-id": str(first.sequence - 1)}) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                followed.append(line.removeprefix("data: ").encode())
            if len(followed) == len(streamed):
                break
    assert followed == streamed


async def test_raw_frames_are_included_on_request(client: httpx2.AsyncClient) -> None:
    await turn(client, "[hello]")
    plain = (await client.get("/v1/sessions/mine/events")).json()["events"]
    raw = (await client.get("/v1/sessions/mine/events?include_raw=true")).json()["events"]
    assert all(event["raw"] is None for event in plain)
    assert all(event["raw"] is not None for event in raw)
    frames = (await client.get("/v1/sessions/mine/frames")).json()["frames"]
    assert {frame["direction"] for frame in frames} >= {"from_agent", "to_agent", "from_client"}


async def test_an_ask_is_listed_and_answered_once_and_the_turn_continues(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/v1/sessions/mine/messages", json={"message": "[ask]"})).status_code == 204
    asks: list[dict[str, str]] = []
    with anyio.fail_after(LIMIT_SECONDS):
        while not asks:
            asks = (await client.get("/v1/asks")).json()["asks"]
            await anyio.sleep(0.01)
    url = f"/v1/sessions/mine/permissions/{asks[0]['askId']}/reply"
    assert (await client.post(url, json={"reply": "once"})).status_code == 204
    again = await client.post(url, json={"reply": "reject"})
    assert (again.status_code, again.json()["code"]) == (409, "ask_closed")
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get("/v1/sessions/mine")).json()["status"] != "idle":
            await anyio.sleep(0.01)
    types = [event["type"] for event in (await client.get("/v1/sessions/mine/events")).json()["events"]]
    assert types.index("permission.requested") < types.index("permission.resolved") < types.index("turn.ended")


async def test_a_message_sent_twice_with_one_key_is_one_message(client: httpx2.AsyncClient) -> None:
    key = {"idempotency-key": "once"}
    answers = [
        await client.post("/v1/sessions/mine/messages", json={"message": "[hello]"}, headers=key) for _ in range(3)
    ]
    assert {answer.status_code for answer in answers} == {204}
    assert len({answer.headers["x-item-id"] for answer in answers}) == 1
    await turn(client, "[hello]")
    started = (await client.get("/v1/sessions/mine/events?types=turn.started")).json()["events"]
    assert len(started) == 2


async def test_a_session_can_be_forked_exported_searched_and_ended(client: httpx2.AsyncClient) -> None:
    await turn(client, "a marmalade sandwich")
    fork = await client.post("/v1/sessions/mine/fork", json={"sessionId": "other"})
    assert fork.json()["forkedFrom"]["sessionId"] == "mine"
    for format in ("markdown", "html", "jsonl"):
        assert "marmalade" in (await client.get(f"/v1/sessions/mine/export?format={format}")).text
    assert (await client.get("/v1/search?q=marmalade")).json()["hits"]
    assert (await client.post("/v1/sessions/mine/terminate")).status_code == 204
    stream = await client.get("/v1/sessions/mine/events/sse")
    last = [line for line in stream.text.split("\n") if line.startswith("id: ")][-1].removeprefix("id: ")
    assert msgspec.json.decode(stream.text.split("data: ")[-1])["type"] == "session.ended"
    again = await client.get("/v1/sessions/mine/events/sse", headers={"last-event-id": last})
    assert again.status_code == 204
    refused = await client.post("/v1/sessions/mine/messages", json={"message": "hello?"})
    assert (refused.status_code, refused.json()["code"]) == (409, "session_ended")


async def test_only_images_of_items_are_served_as_images(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"not an image")
    await turn(client, "[image]")
    attached = {"path": str(secret), "mime": "image/png"}
    message = {"message": "[hello]", "attachments": [attached]}
    assert (await client.post("/v1/sessions/mine/messages/stream", json=message)).status_code == 200
    completed = (await client.get("/v1/sessions/mine/events?types=item.completed")).json()["events"]
    found = {
        (event["sequence"], index): part
        for event in completed
        for index, part in enumerate(event["data"]["item"]["content"])
        if part["type"] == "image"
    }
    (shown, hidden) = [f"/v1/sessions/mine/image?sequence={sequence}&part={part}" for sequence, part in found]
    picture = await client.get(shown)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert picture.content.startswith(b"\x89PNG")
    for wrong in (hidden, "/v1/sessions/mine/image?sequence=1", f"{shown}000"):
        assert (await client.get(wrong)).status_code == 404


async def test_events_are_found_by_their_text(client: httpx2.AsyncClient) -> None:
    await turn(client, "A needle in the hay")
    found = (await client.get("/v1/sessions/mine/events?text=NEEDLE&order=desc&types=item.completed")).json()
    assert [event["data"]["item"]["role"] for event in found["events"]] == ["assistant", "user"]
    assert (await client.get("/v1/sessions/mine/events?text=nowhere")).json()["events"] == []


async def test_unknown_frames_are_kept_as_samples(client: httpx2.AsyncClient) -> None:
    await turn(client, "[unparsed]")
    frames = (await client.get("/v1/agents/mock/unknown-frames")).json()["frames"]
    assert [frame["sessionId"] for frame in frames] == ["mine", "mine"]
    assert "telemetry.v9" in frames[0]["frame"]
    assert frames[1]["frame"] == "%% this is no JSON at all"
    event = (await client.get(f"/v1/sessions/mine/events?offset={frames[0]['sequence'] - 1}&limit=1")).json()
    assert event["events"][0]["type"] == "agent.unparsed"


async def test_queued_messages_are_listed_in_order(client: httpx2.AsyncClient) -> None:
    sent = [await client.post("/v1/sessions/mine/messages", json={"message": "[slow seconds=600]"})]
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get("/v1/sessions/mine")).json()["status"] != "running":
            await anyio.sleep(0.01)
    file = {"data": "aGk=", "mime": "text/plain", "filename": "hi.txt"}
    for message in ({"message": "first"}, {"message": "second", "attachments": [file]}):
        sent.append(await client.post("/v1/sessions/mine/messages", json=message))
    waiting = (await client.get("/v1/sessions/mine/messages/queue")).json()["messages"]
    assert waiting == [
        {"itemId": sent[1].headers["x-item-id"], "message": "first", "attachments": 0},
        {"itemId": sent[2].headers["x-item-id"], "message": "second", "attachments": 1},
    ]


async def test_a_queued_message_can_be_withdrawn(client: httpx2.AsyncClient) -> None:
    await client.post("/v1/sessions/mine/messages", json={"message": "[slow seconds=600]"})
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get("/v1/sessions/mine")).json()["status"] != "running":
            await anyio.sleep(0.01)
    sent = [
        (await client.post("/v1/sessions/mine/messages", json={"message": message})).headers["x-item-id"]
        for message in ("first", "second", "third")
    ]
    where = "/v1/sessions/mine/messages/queue"
    assert (await client.delete(f"{where}/{sent[1]}")).status_code == 204
    assert [each["message"] for each in (await client.get(where)).json()["messages"]] == ["first", "third"]
    assert (await client.get("/v1/sessions/mine")).json()["queuedMessages"] == 2
    again = await client.delete(f"{where}/{sent[1]}")
    assert (again.status_code, again.json()["code"]) == (404, "message_not_queued")
    await client.post("/v1/sessions/mine/cancel")
    taken: list[str] = []
    with anyio.fail_after(LIMIT_SECONDS):
        while sent[2] not in taken:
            events = (await client.get("/v1/sessions/mine/events?types=turn.started")).json()["events"]
            taken = [item for event in events for item in event["data"]["input_item_ids"]]
            await anyio.sleep(0.01)
    assert taken[1:] == [sent[0], sent[2]]
    begun = await client.delete(f"{where}/{sent[2]}")
    assert begun.json()["code"] == "message_not_queued"


async def test_a_cancel_can_withdraw_the_messages_that_wait(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/v1/sessions/mine/cancel?queued=withdraw")).json() == {"cancelled": False}
    await client.post("/v1/sessions/mine/messages", json={"message": "[slow seconds=600]"})
    with anyio.fail_after(LIMIT_SECONDS):
        while (await client.get("/v1/sessions/mine")).json()["status"] != "running":
            await anyio.sleep(0.01)
    file = {"data": "aGk=", "mime": "text/plain", "filename": "hi.txt"}
    waiting = [{"message": "first"}, {"message": "second", "attachments": [file]}]
    for message in waiting:
        await client.post("/v1/sessions/mine/messages", json=message)
    stopped = (await client.post("/v1/sessions/mine/cancel?queued=withdraw")).json()
    assert stopped == {"cancelled": True, "withdrawn": waiting}
    assert (await client.get("/v1/sessions/mine/messages/queue")).json() == {"messages": []}
    await turn(client, "[hello]")
    started = (await client.get("/v1/sessions/mine/events?types=turn.started")).json()["events"]
    assert len(started) == 2


async def test_metrics_count_tokens_and_costs(client: httpx2.AsyncClient) -> None:
    ended = [msgspec.json.decode(event)["data"] for event in await turn(client, "[hello]")][-1]
    lines = dict(line.rsplit(" ", 1) for line in (await client.get("/metrics")).text.splitlines() if line[:1] != "#")
    for kind in ("input", "output"):
        counted = float(lines[f'everyagent_tokens_total{{agent="mock",kind="{kind}"}}'])
        assert counted == ended["usage"][f"{kind}_tokens"] > 0
    assert float(lines['everyagent_cost_usd_total{agent="mock"}']) == pytest.approx(ended["cost_usd"])


async def test_an_installation_can_be_watched(client: httpx2.AsyncClient) -> None:
    before = (await client.get("/v1/agents/mock/install")).json()
    assert before == {"state": "idle", "bytes": 0, "seconds": 0.0, "error": None}
    assert (await client.post("/v1/agents/mock/install", json={})).status_code == 204
    after = (await client.get("/v1/agents/mock/install")).json()
    assert after["state"] == "done"
    listed = (await client.get("/v1/agents")).json()["agents"]
    assert next(agent for agent in listed if agent["id"] == "mock")["installation"] == after


async def test_an_uploaded_file_is_attached_by_its_id(client: httpx2.AsyncClient) -> None:
    uploaded = await client.post("/anthropic/v1/files", files={"file": ("notes.txt", b"the notes", "text/plain")})
    file_id = uploaded.json()["id"]
    message = {"message": "[hello]", "attachments": [{"fileId": file_id}]}
    response = await client.post("/v1/sessions/mine/messages/stream", json=message)
    (part,) = [
        part
        for line in response.content.split(b"\n")
        if line.startswith(b"data: ")
        for part in items(line.removeprefix(b"data: "))
    ]
    assert Path(part.path).read_bytes() == b"the notes"
    assert Path(part.path).name == "notes.txt"
    deleted = await client.delete(f"/anthropic/v1/files/{file_id}")
    assert deleted.json() == {"id": file_id, "type": "file_deleted"}
    assert not Path(part.path).exists()
    gone = await client.post("/v1/sessions/mine/messages", json=message)
    assert (gone.status_code, gone.json()["code"]) == (404, "record_not_found")
    two = {"message": "x", "attachments": [{"fileId": file_id, "path": "/etc/hosts"}]}
    assert (await client.post("/v1/sessions/mine/messages", json=two)).status_code == 400


def items(body: bytes) -> list[FileRefPart]:
    """The attachments of a user's message, from its `item.completed`."""
    data = decode_event(body).data
    if not isinstance(data, ItemCompleted) or data.item.role != "user":
        return []
    return [part for part in data.item.content if isinstance(part, FileRefPart)]


async def test_fewer_answers_than_questions_leave_the_rest_unanswered(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/v1/sessions/mine/messages", json={"message": "[question]"})).status_code == 204
    asks: list[dict[str, str]] = []
    with anyio.fail_after(LIMIT_SECONDS):
        while not asks:
            asks = (await client.get("/v1/asks")).json()["asks"]
            await anyio.sleep(0.01)
    url = f"/v1/sessions/mine/questions/{asks[0]['askId']}/reply"
    assert (await client.post(url, json={"answers": [["Red"], ["Docs"], ["More"]]})).status_code == 400
    assert (await client.post(url, json={"answers": [["Red"]]})).status_code == 204
    (resolved,) = (await client.get("/v1/sessions/mine/events?types=question.resolved")).json()["events"]
    assert (resolved["data"]["answers"], resolved["data"]["status"]) == ([["Red"], []], "answered")


async def test_a_damaged_event_fails_only_reads_of_itself(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    damaged = decode_event((await turn(client, "[hello]"))[1]).sequence
    with closing(apsw.Connection(str(tmp_path / "data" / "everyagent.db"))) as connection:
        connection.execute("UPDATE events SET body = x'7b7d' WHERE key & 4294967295 = ?", (damaged,))
    before = (await client.get("/v1/sessions/mine/events")).json()
    assert [event["sequence"] for event in before["events"]] == list(range(1, damaged))
    assert before["hasMore"]
    for path in ("events", "events/sse"):
        failed = await client.get(f"/v1/sessions/mine/{path}?offset={damaged - 1}&includeRaw=true")
        assert failed.status_code == 500
        problem = failed.json()
        assert (problem["code"], problem["sessionId"], problem["sequence"]) == ("log_damaged", "mine", damaged)
    after = (await client.get(f"/v1/sessions/mine/events?offset={damaged}")).json()
    assert [event["sequence"] for event in after["events"]] == list(range(damaged + 1, after["head"] + 1))
    assert isinstance(decode_event((await turn(client, "[hello]"))[-1]).data, TurnEnded)
    health = (await client.get("/v1/health")).json()
    assert health["storage"] == {"condition": "damaged", "damaged": 1}
    assert "everyagent_log_damaged_records 1.0" in (await client.get("/metrics")).text


async def test_a_deleted_database_is_shown_and_effects_are_refused(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    await turn(client, "[hello]")
    file = tmp_path / "data" / "everyagent.db"
    file.rename(tmp_path / "elsewhere")
    assert (await client.get("/v1/health")).json()["storage"]["condition"] == "lost"
    assert (await client.get("/v1/ready")).status_code == 503
    refused = await client.post("/v1/sessions/mine/messages", json={"message": "[hello]"})
    assert refused.status_code == 503
    assert "was deleted or replaced while the daemon runs" in refused.json()["detail"]
    (tmp_path / "elsewhere").rename(file)
    assert (await client.get("/v1/ready")).status_code == 200
    await turn(client, "[hello]")
