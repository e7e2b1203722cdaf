"""The requests that each call describes, and the equality of both clients."""

import inspect
from pathlib import Path

import msgspec
import pytest

from everyagent.client import AsyncClient, Client, calls, discovery
from everyagent.client.call import ApiCall, ApiResponse
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer

SENT: list[tuple[ApiCall[object], str]] = [
    (calls.health(), "GET /v1/health"),
    (calls.openapi(), "GET /openapi.json"),
    (calls.metrics(), "GET /metrics"),
    (calls.agents(), "GET /v1/agents"),
    (calls.models("mock"), "GET /v1/agents/mock/models"),
    (calls.modes("mock"), "GET /v1/agents/mock/modes"),
    (calls.install("mock"), 'POST /v1/agents/mock/install {"reinstall":false}'),
    (calls.sessions(), "GET /v1/sessions"),
    (calls.sessions(status="idle", limit=5, page="p"), "GET /v1/sessions?status=idle&limit=5&page=p"),
    (calls.session("a b?c"), "GET /v1/sessions/a%20b%3Fc"),
    (calls.create(), "POST /v1/sessions {}"),
    (calls.create("x", agent="mock", agent_mode="plan"), 'POST /v1/sessions/x {"agent":"mock","agentMode":"plan"}'),
    (calls.update("x", title=None), 'PATCH /v1/sessions/x {"title":null}'),
    (calls.delete("x"), "DELETE /v1/sessions/x"),
    (calls.send("x", "Hi", delivery="steer"), 'POST /v1/sessions/x/messages {"message":"Hi","delivery":"steer"}'),
    (calls.cancel("x"), "POST /v1/sessions/x/cancel {}"),
    (calls.queue("x"), "GET /v1/sessions/x/messages/queue"),
    (calls.withdraw("x", "itm_1"), "DELETE /v1/sessions/x/messages/queue/itm_1"),
    (calls.installation("mock"), "GET /v1/agents/mock/install"),
    (calls.unknown_frames("mock"), "GET /v1/agents/mock/unknown-frames"),
    (calls.cancel_subagent("x", "itm_1"), "POST /v1/sessions/x/subagents/itm_1/cancel {}"),
    (calls.terminate("x"), "POST /v1/sessions/x/terminate {}"),
    (calls.fork("x", new_id="y", sequence=3), 'POST /v1/sessions/x/fork {"sessionId":"y","sequence":3}'),
    (calls.search("word", session_id="x"), "GET /v1/search?q=word&session=x"),
    (calls.event_page("x", types=["a", "b"]), "GET /v1/sessions/x/events?offset=0&types=a,b"),
    (calls.event_page("x", offset=4, include_raw=True), "GET /v1/sessions/x/events?offset=4&include_raw=true"),
    (calls.tail("x"), "GET /v1/sessions/x/events/sse"),
    (calls.feed(types=["error"]), "GET /v1/events/sse?types=error"),
    (calls.frames("x"), "GET /v1/sessions/x/frames?offset=0"),
    (calls.export("x", format="html"), "GET /v1/sessions/x/export?format=html"),
    (calls.asks(), "GET /v1/asks?pending=true"),
    (calls.asks("x", pending=False), "GET /v1/sessions/x/asks?pending=false"),
    (
        calls.answer("x", "p", PermissionAnswer(reply="reject", message="no")),
        'POST /v1/sessions/x/permissions/p/reply {"reply":"reject","message":"no"}',
    ),
    (
        calls.answer("x", "q", QuestionAnswer(answers=[["a"], ["b", "c"]])),
        'POST /v1/sessions/x/questions/q/reply {"answers":[["a"],["b","c"]]}',
    ),
    (calls.answer("x", "q", QuestionAnswer(answers=None)), "POST /v1/sessions/x/questions/q/reject {}"),
    (
        calls.answer("x", "t", ToolAnswer(output="4 C")),
        'POST /v1/sessions/x/tools/t/reply {"output":"4 C","isError":false}',
    ),
    (calls.list_files("x"), "GET /v1/fs/entries?sessionId=x&path=."),
    (calls.read_file("x", "a"), "GET /v1/fs/file?sessionId=x&path=a"),
    (calls.write_file("x", "a", b"text"), "PUT /v1/fs/file?sessionId=x&path=a text"),
    (calls.delete_file("x", "a"), "DELETE /v1/fs/entry?sessionId=x&path=a"),
    (calls.make_directory("x", "d"), "POST /v1/fs/mkdir?sessionId=x&path=d {}"),
    (calls.move_file("x", "a", "b"), 'POST /v1/fs/move?sessionId=x {"from":"a","to":"b","overwrite":false}'),
    (calls.stat_file("x", "a"), "GET /v1/fs/stat?sessionId=x&path=a"),
    (calls.upload("x", b"tar"), "POST /v1/fs/upload-batch?sessionId=x&path=. tar"),
]


@pytest.mark.parametrize(("call", "expected"), SENT, ids=[expected for _, expected in SENT])
def test_a_call_sends(call: ApiCall[object], expected: str):
    query = "&".join(f"{name}={value}" for name, value in call.params.items())
    text = f"{call.method} {call.path}" + (f"?{query}" if query else "")
    assert text + (f" {call.body.decode()}" if call.body is not None else "") == expected


@pytest.mark.parametrize("call", [call for call, _ in SENT if call.method == "POST"], ids=lambda call: call.path)
def test_every_post_has_an_idempotency_key(call: ApiCall[object]):
    assert call.repeatable
    assert call.headers()["idempotency-key"] == call.key


def test_both_clients_have_the_same_methods_with_the_same_parameters():
    def methods(kind: type) -> dict[str, object]:
        client = kind("http://127.0.0.1:1", "token")
        names = {name for name in dir(client) if not name.startswith("_")} - {"aclose", "close", "url"}
        return {name: list(inspect.signature(getattr(client, name)).parameters) for name in names}

    assert methods(AsyncClient) == methods(Client)


def test_every_call_is_a_method():
    functions = {name for name in calls.__all__ if inspect.isfunction(getattr(calls, name))} - {"tail"}
    assert functions <= set(dir(Client))


def test_the_address_in_the_data_folder_is_used_unless_another_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("EVERYAGENT_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("EVERYAGENT_URL", raising=False)
    assert discovery.find_url() == discovery.DEFAULT_URL
    (tmp_path / "daemon.url").write_text("http://127.0.0.1:3999\n")
    assert discovery.find_url() == "http://127.0.0.1:3999"
    monkeypatch.setenv("EVERYAGENT_URL", "http://127.0.0.1:4000")
    assert discovery.find_url() == "http://127.0.0.1:4000"


def test_the_token_file_is_never_sent_to_another_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("EVERYAGENT_TOKEN", raising=False)
    monkeypatch.setenv("EVERYAGENT_DATA_DIR", str(tmp_path))
    (tmp_path / "token").write_text("local\n")
    assert discovery.find_token("http://127.0.0.1:2468") == "local"
    assert discovery.find_token("http://[::1]:2468") == "local"
    assert discovery.find_token("https://example.com") is None
    monkeypatch.setenv("EVERYAGENT_TOKEN", "given")
    assert discovery.find_token("https://example.com") == "given"


def test_unknown_fields_of_a_newer_daemon_are_ignored():
    call = calls.agents()
    body = msgspec.json.encode({"agents": [{"id": "m", "installed": True, "credentialsAvailable": True, "new": 1}]})
    assert call.decode(ApiResponse(body, {}))[0].id == "m"
