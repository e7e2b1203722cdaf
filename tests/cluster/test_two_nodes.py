"""Two nodes on one database: any of them answers everything."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everyagent.client import ApiError, Client
from everyagent.testing.daemon import NO_TLS, TOKEN
from tests.cluster.nodes import NodeProcess, client, cluster
from tests.managed.raw import TOOLSET, Raw
from tests.postgres.server import PostgresServer
from tests.waiting import LIMIT_SECONDS, wait_until


@pytest.fixture(scope="module")
def store(postgres: PostgresServer) -> str:
    return postgres.new_schema()


@pytest.fixture(scope="module")
def nodes(store: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[list[NodeProcess]]:
    with cluster(tmp_path_factory.mktemp("cluster"), store, 2) as nodes:
        yield nodes


@pytest.fixture
def first(nodes: list[NodeProcess]) -> Generator[Client]:
    with client(nodes[0]) as made:
        yield made


@pytest.fixture
def second(nodes: list[NodeProcess]) -> Generator[Client]:
    with client(nodes[1]) as made:
        yield made


def turns(reader: Client, session_id: str) -> int:
    return len(reader.event_page(session_id, types=["turn.ended"], limit=1000).events)


def test_events_of_the_owner_reach_a_reader_on_the_other_node(first: Client, second: Client, tmp_path: Path):
    first.create("read", agent="mock", directory=str(tmp_path))
    stream = second.events("read")
    assert next(stream).sequence == 1
    first.send("read", "[text words=20]")
    seen = [1]
    for event in stream:
        seen.append(event.sequence)
        if event.type == "turn.ended":
            break
    assert seen == list(range(1, len(seen) + 1))


def test_a_message_to_the_other_node_reaches_the_owner(first: Client, second: Client, tmp_path: Path):
    first.create("sent", agent="mock", directory=str(tmp_path))
    first.run_turn("sent", "[text words=3]")
    second.run_turn("sent", "[text words=3]")
    wait_until(lambda: turns(first, "sent") == 2)
    assert turns(second, "sent") == 2


def test_the_feed_of_a_node_has_the_commits_of_all(first: Client, second: Client, tmp_path: Path):
    first.create("feed-here", agent="mock", directory=str(tmp_path))
    feed = second.feed(types=["session.started", "turn.ended"], last_id="0.0")
    seen: set[tuple[str, str]] = set()
    second.create("feed-there", agent="mock", directory=str(tmp_path))
    first.run_turn("feed-here", "[text words=3]")
    second.run_turn("feed-there", "[text words=3]")
    wanted = {(name, kind) for name in ("feed-here", "feed-there") for kind in ("session.started", "turn.ended")}
    for event in feed:
        seen.add((event.session_id, event.type))
        if wanted <= seen:
            break


def test_asks_files_and_ends_work_on_any_node(first: Client, second: Client, tmp_path: Path):
    first.create("ask", agent="mock", directory=str(tmp_path))
    first.send("ask", "[ask]")
    ask = wait_until(lambda: second.asks("ask"))[0]
    second.reply_permission("ask", ask.ask_id, "once")
    wait_until(lambda: turns(second, "ask") == 1)
    second.write_file("ask", "a.txt", b"written on another node")
    assert (tmp_path / "a.txt").read_bytes() == second.read_file("ask", "a.txt")
    second.terminate("ask")
    assert first.session("ask").status == "ended"
    second.delete("ask")
    with pytest.raises(ApiError) as missing:
        first.session("ask")
    assert missing.value.status == 404


def test_checkpoints_and_worktrees_are_read_on_any_node(first: Client, second: Client, tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    first.create("kept", agent="mock", directory=str(tmp_path), worktree=True, checkpoints=True)
    first.run_turn("kept", "[text words=1]")
    here = wait_until(lambda: first.checkpoints("kept"))
    assert second.checkpoints("kept") == here
    assert second.worktree("kept") == first.worktree("kept")
    assert second.worktree("kept").exists


def test_a_repeated_message_has_one_effect_on_any_node(nodes: list[NodeProcess], first: Client, tmp_path: Path):
    first.create("once", agent="mock", directory=str(tmp_path))
    items = {
        post(node, "/v1/sessions/once/messages", {"message": "[text words=1]"}, "the-same-key").headers["x-item-id"]
        for node in [*nodes, *nodes]
    }
    assert len(items) == 1
    wait_until(lambda: turns(first, "once") == 1)


def test_an_api_key_is_known_and_revoked_on_all_nodes(
    nodes: list[NodeProcess], first: Client, second: Client, tmp_path: Path
):
    first.create("keyed", agent="mock", directory=str(tmp_path))
    made = first.create_key(name="reader", scopes=["read"])
    with Client(nodes[1].url, made.secret) as keyed:
        wait_until(lambda: status_of(keyed) == 200)
        with pytest.raises(ApiError) as refused:
            keyed.send("keyed", "hello")
        assert refused.value.status == 403
        second.revoke_key(made.key.key_id)
    with Client(nodes[0].url, made.secret) as keyed:
        wait_until(lambda: status_of(keyed) == 401)


def test_a_managed_session_is_sent_to_streamed_and_deleted_on_another_node(nodes: list[NodeProcess]):
    here, there = Raw(nodes[0]), Raw(nodes[1])
    there.session_id = here.create(TOOLSET)
    file = here.upload("a.txt", b"content" * 1000)
    assert there.answer("GET", f"/files/{file}").status_code == 200
    stream = there.stream(**{"last-event-id": "0"})
    there.say("hello from another node")
    types: list[object] = []
    for event in stream:
        types.append(event["type"])
        if event["type"] == "session.status_idle":
            break
    assert "agent.message" in types
    assert here.events() == there.events()
    there.call("DELETE", there.path)
    assert here.answer("GET", here.path).status_code == 404
    here.close()
    there.close()


def test_mcp_tools_reach_a_session_of_another_node(nodes: list[NodeProcess], first: Client, tmp_path: Path):
    first.create("tools", agent="mock", directory=str(tmp_path))
    first.run_turn("tools", "[text words=1]")
    asked = tool(nodes[1], "send_message", session_id="tools", message="[ask]")
    assert [ask["kind"] for ask in asked["asks"]] == ["permission"]
    answered = tool(nodes[1], "answer_ask", session_id="tools", ask_id=asked["asks"][0]["ask_id"], reply="once")
    assert (answered["asks"], answered["stop_reason"]) == ([], "end_turn")
    running = tool(nodes[1], "send_message", session_id="tools", message="[hang]", wait_seconds=0)
    wait_until(lambda: first.session("tools").status == "running")
    assert (running["session_id"], tool(nodes[1], "cancel_turn", session_id="tools")) == ("tools", {"cancelled": True})
    assert tool(nodes[1], "wait_for_session", session_id="tools")["stop_reason"] == "interrupted"
    assert tool(nodes[1], "end_session", session_id="tools") == {"ended": True}
    assert first.session("tools").status == "ended"


def test_a_session_sends_no_message_to_its_parent_on_another_node(nodes: list[NodeProcess], first: Client):
    first.create("parent", agent="mock")
    child = tool(nodes[1], "start_session", caller="parent", agent="mock", message="[text words=1]")["session_id"]
    refused = outcome(nodes[1], "send_message", caller=child, session_id="parent", message="Back to you")
    assert (refused["isError"], "started by" in refused["content"][0]["text"]) == (True, True)
    assert turns(first, "parent") == 0


def test_a_forged_forwarded_request_is_refused(nodes: list[NodeProcess]):
    answer = httpx2.get(f"{nodes[0].url}/v1/sessions", headers={"x-everyagent-forwarded": "e30=.00"}, verify=NO_TLS)
    assert answer.status_code == 401


def test_nodes_are_listed_and_ready(nodes: list[NodeProcess], first: Client):
    wait_until(lambda: len(first.cluster().nodes) == 2)
    listed = first.cluster()
    assert {node.url for node in listed.nodes} == {node.url for node in nodes}
    assert listed.node_id in {node.node_id for node in listed.nodes}
    assert httpx2.get(f"{nodes[0].url}/v1/ready", verify=NO_TLS).status_code == 200
    assert "everyagent_cluster_nodes 2" in first.metrics()


def test_a_node_with_another_vault_key_is_refused(nodes: list[NodeProcess], store: str, tmp_path: Path):
    words = ["serve", "--port", "0", "--token", TOKEN, "--store", store, "--cluster"]
    done = subprocess.run(
        [sys.executable, "-m", "everyagent", *words, "--data-dir", str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert (done.returncode, "vault.key" in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def tool(node: NodeProcess, name: str, *, caller: str = "", **arguments: object) -> dict[str, Any]:
    """The result of an MCP tool. `caller` is the session whose agent calls it."""
    result = outcome(node, name, caller=caller, **arguments)
    assert not result["isError"], result
    return json.loads(result["content"][0]["text"])


def outcome(node: NodeProcess, name: str, *, caller: str, **arguments: object) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {**node.headers, **({"x-everyagent-session": caller} if caller else {})}
    answer = httpx2.post(f"{node.url}/mcp", json=body, headers=headers, verify=NO_TLS, timeout=LIMIT_SECONDS)
    return answer.json()["result"]


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, check=True)


def status_of(client: Client) -> int:
    try:
        client.sessions()
    except ApiError as error:
        return error.status
    return 200


def post(node: NodeProcess, path: str, body: dict[str, str], key: str) -> httpx2.Response:
    headers = {**node.headers, "idempotency-key": key}
    answer = httpx2.post(node.url + path, json=body, headers=headers, verify=NO_TLS, timeout=LIMIT_SECONDS)
    assert answer.status_code == 204, answer.text
    return answer
