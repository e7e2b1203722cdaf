"""The app-server's language without the app-server: ids, owners, asks, arguments. No process, no time."""

from pathlib import Path

import msgspec
import pytest

from everyagent.agents.adapter import DecodedFrame, Draft, Launch
from everyagent.agents.codex import launch, program
from everyagent.agents.codex.decode import asks, patches
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.decode.effects import ImmediateAnswer, RpcReply, UnservedRequest
from everyagent.agents.codex.driver import encode
from everyagent.agents.codex.policy import modes
from everyagent.agents.codex.protocol import requests, rpc, wire_items
from everyagent.agents.codex.protocol.routing import ThreadRouter
from everyagent.errors import AgentFailed
from everyagent.model.asks import PermissionAnswer, QuestionAnswer
from everyagent.model.events import ItemCompleted, ItemStarted, PermissionRequested, PermissionResolved, Unparsed
from everyagent.model.items import Item
from everyagent.model.parts import JsonPart, ToolCallPart, ToolResultPart
from everyagent.runtime.framing import Line

THREAD = {"thread": {"id": "T"}}


def said(**message: object) -> rpc.RpcMessage:
    return rpc.read(Line(msgspec.json.encode(message)))


def opened() -> CodexDecoder:
    decoder = CodexDecoder("/workspace")
    decoder.sent["everyagent-1"] = "thread/start"
    decoder.decode(said(id="everyagent-1", result=THREAD))
    return decoder


def drafts(decoded: DecodedFrame) -> list[Draft]:
    return list(decoded.drafts)


def plain(**fields: object) -> Launch:
    given: dict[str, object] = {
        "session_id": "s",
        "directory": Path("/workspace"),
        "scratch": Path("/scratch"),
        "permission_mode": "default",
        "agent_mode": "build",
    }
    return msgspec.convert(given | fields, Launch, dec_hook=lambda kind, value: kind(value))


# -- what cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"not json", b"[1]", b'{"method":5}', b"\xff\xfe", b'{"id":{}}', b"[" * 100_000])
def test_a_line_that_cannot_be_read_is_unparsed(body: bytes) -> None:
    (draft,) = drafts(CodexDecoder().decode(rpc.read(Line(body))))
    assert isinstance(draft, Unparsed)


def test_a_line_that_was_cut_is_unparsed() -> None:
    (draft,) = drafts(CodexDecoder().decode(rpc.read(Line(b'{"method"', 100_000_000))))
    assert isinstance(draft, Unparsed)


def test_an_unknown_notification_is_unparsed() -> None:
    (draft,) = drafts(opened().decode(said(method="thread/new/thing", params={"threadId": "T"})))
    assert isinstance(draft, Unparsed)
    assert "thread/new/thing" in draft.error


def test_an_item_of_an_unknown_type_is_kept_as_json() -> None:
    item: dict[str, object] = {"type": "hologram", "id": "x", "depth": {"z": 3}}
    decoder = opened()
    params = {"threadId": "T", "turnId": "t", "item": item}
    (started,) = drafts(decoder.decode(said(method="item/started", params=params)))
    (completed,) = drafts(decoder.decode(said(method="item/completed", params=params)))
    assert isinstance(started, ItemStarted)
    assert isinstance(completed, ItemCompleted)
    kept = completed.item
    assert (kept.kind, kept.name, kept.native_item_id) == ("unknown", "hologram", "x")
    assert kept.content == [JsonPart(json=item)]
    assert started.item.item_id == kept.item_id


def test_an_unknown_request_is_refused_and_unparsed() -> None:
    decoder = opened()
    decoder.effects.clear()
    decoded = decoder.decode(said(method="item/new/request", id=7, params={"threadId": "T"}))
    assert isinstance(decoded.drafts[0], Unparsed)
    assert decoder.effects == [UnservedRequest(7, "item/new/request")]
    refused = msgspec.json.decode(rpc.refusal(7, "item/new/request"))
    assert (refused["id"], refused["error"]["code"]) == (7, -32601)


def test_a_request_that_is_known_but_cannot_be_read_is_refused() -> None:
    decoder = opened()
    decoder.effects.clear()
    decoded = decoder.decode(said(method="item/tool/requestUserInput", id=7, params={"threadId": "T", "questions": 5}))
    assert isinstance(decoded.drafts[0], Unparsed)
    assert decoder.effects == [UnservedRequest(7, "item/tool/requestUserInput")]


# -- ids and owners ---------------------------------------------------------------------------------------------


def test_a_request_of_codex_with_the_id_of_one_of_ours_is_no_answer() -> None:
    router: ThreadRouter[str] = ThreadRouter(["us"])
    router.ask(0, "us")
    asked = said(method="item/tool/call", id=0, params={"threadId": "T"})
    assert list(router.route(asked)) == []
    assert [owner for owner, _ in router.route(said(id=0, result=THREAD))] == ["us"]


def test_a_thread_and_its_sub_agents_belong_to_the_session_that_opened_it() -> None:
    router: ThreadRouter[str] = ThreadRouter(["a", "b"])
    for owner, id, thread in (("a", "1", "A"), ("b", "2", "B")):
        router.ask(id, owner)
        assert [each for each, _ in router.route(said(id=id, result={"thread": {"id": thread}}))] == [owner]
    spoke = said(method="turn/started", params={"threadId": "B"})
    assert [owner for owner, _ in router.route(spoke)] == ["b"]
    early = said(method="turn/started", params={"threadId": "child"})
    assert list(router.route(early)) == []
    item = {"type": "subAgentActivity", "agentThreadId": "child"}
    named = said(method="item/started", params={"threadId": "B", "item": item})
    assert list(router.route(named)) == [("b", named), ("b", early)]
    router.owners.remove("b")
    router.leave("b")
    assert list(router.route(spoke)) == []
    assert [owner for owner, _ in router.route(said(method="configWarning", params={}))] == ["a"]


def test_items_of_a_nested_sub_agent_have_their_native_ids() -> None:
    """Of a thread in a thread, whose items have daemon-made keys: ids of two threads may be equal."""
    decoder = opened()
    found: list[Item] = []

    def activity(thread: str, child: str, kind: str) -> None:
        item = {"type": "subAgentActivity", "id": "call_1", "agentThreadId": child, "agentPath": "/a", "kind": kind}
        params = {"threadId": thread, "turnId": "turn", "item": item}
        decoded = drafts(decoder.decode(said(method="item/started", params=params)))
        found.extend(draft.item for draft in decoded if isinstance(draft, ItemCompleted))

    activity("T", "child", "started")
    activity("child", "grandchild", "started")
    activity("child", "grandchild", "completed")
    activity("T", "child", "completed")
    assert [item.kind for item in found] == ["tool_call", "tool_call", "tool_result", "tool_result"]
    assert {item.native_item_id for item in found} == {"call_1"}
    calls = [part.call_id for item in found for part in item.content if isinstance(part, ToolCallPart | ToolResultPart)]
    assert calls[0] == calls[3] != calls[1] == calls[2], "call ids are unique in the session"


def test_rate_limits_go_to_the_session_whose_usage_came_before() -> None:
    router: ThreadRouter[str] = ThreadRouter(["a", "b"])
    for owner in ("a", "b"):
        router.ask(owner, owner)
        list(router.route(said(id=owner, result={"thread": {"id": owner}})))
    list(router.route(said(method="thread/tokenUsage/updated", params={"threadId": "b"})))
    limits = said(method="account/rateLimits/updated", params={"rateLimits": {}})
    assert [owner for owner, _ in router.route(limits)] == ["b"]


def test_an_answer_of_codex_comes_back_as_a_reply() -> None:
    decoder = opened()
    assert isinstance(decoder.effects[0], RpcReply)
    assert decoder.opened
    assert decoder.opened.thread.id == "T"


# -- asks -------------------------------------------------------------------------------------------------------


def test_an_ask_that_codex_settles_itself_is_resolved() -> None:
    decoder = opened()
    asked = decoder.decode(
        said(method="item/commandExecution/requestApproval", id=3, params={"threadId": "T", "itemId": "c"})
    )
    assert isinstance(asked.drafts[0], PermissionRequested)
    settled = said(method="serverRequest/resolved", params={"threadId": "T", "requestId": 3})
    (resolved,) = drafts(decoder.decode(settled))
    assert isinstance(resolved, PermissionResolved)
    assert drafts(decoder.decode(settled)) == []


def test_a_request_for_the_time_is_answered_at_once() -> None:
    decoder = CodexDecoder(now=lambda: 1234.5)
    assert drafts(decoder.decode(said(method="currentTime/read", id=1, params={"threadId": "T"}))) == []
    assert decoder.effects == [ImmediateAnswer(1, {"currentTimeAt": 1234})]


GRANT: dict[str, object] = {"network": {"enabled": True}}


@pytest.mark.parametrize(
    ("ask", "reply", "response"),
    [
        (asks.DecisionAsk("shell"), "once", {"decision": "accept"}),
        (asks.DecisionAsk("shell"), "always", {"decision": "acceptForSession"}),
        (asks.DecisionAsk("shell"), "reject", {"decision": "decline"}),
        (asks.OldDecisionAsk("shell"), "once", {"decision": "approved"}),
        (asks.OldDecisionAsk("shell"), "always", {"decision": "approved_for_session"}),
        (asks.OldDecisionAsk("shell"), "reject", {"decision": {"denied": {"rejection": "No."}}}),
        (asks.GrantAsk(GRANT), "once", {"permissions": GRANT, "scope": "turn"}),
        (asks.GrantAsk(GRANT), "always", {"permissions": GRANT, "scope": "session"}),
        (asks.GrantAsk(GRANT), "reject", {"permissions": {}, "scope": "turn"}),
    ],
)
def test_every_reply_is_one_of_codexs_decisions(ask: asks.Ask, reply: str, response: object) -> None:
    answer = msgspec.convert({"kind": "permission", "reply": reply, "message": "No."}, PermissionAnswer)
    assert asks.response(ask, answer) == response


def test_an_answer_of_another_kind_is_refused() -> None:
    with pytest.raises(AgentFailed):
        asks.response(asks.DecisionAsk("shell"), QuestionAnswer(answers=[["yes"]]))


def test_a_page_that_an_mcp_server_wants_opened_is_a_question() -> None:
    request = requests.CodexElicitation(server_name="s", mode="url", message="Log in at", url="https://x.example")
    ask, asked = asks.elicitation("k", request)
    assert "https://x.example" in str(asked)
    assert asks.response(ask, QuestionAnswer(answers=[["yes"]]))["action"] == "accept"
    assert asks.response(ask, QuestionAnswer(answers=[["no"]]))["action"] == "decline"


# -- diffs ------------------------------------------------------------------------------------------------------


def test_diffs_are_whole_unified_diffs() -> None:
    def diff(kind: str, text: str) -> str | None:
        return patches.file_ref(
            wire_items.FileChange(path="/w/a", diff=text, kind=wire_items.ChangeKind(type=kind))
        ).diff

    assert diff("add", "x\ny") == "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n"
    assert diff("delete", "x\n") == "--- a/w/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
    assert diff("update", "@@ -1 +1 @@\n-x\n+y\n") == "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-x\n+y\n"


# -- starting ---------------------------------------------------------------------------------------------------


def test_planning_wins_over_every_permission_mode() -> None:
    for mode in modes.PERMISSION_MODES:
        assert modes.native(mode.id, "plan").sandbox == "read-only"


def test_a_thread_is_started_or_resumed_with_the_sessions_choices() -> None:
    method, params = encode.open_thread(plain(permission_mode="bypass", system_prompt="Be kind"), {})
    assert (method, params["sandbox"], params["developerInstructions"]) == (
        "thread/start",
        "danger-full-access",
        "Be kind",
    )
    method, params = encode.open_thread(plain(native_session_id="T"), {})
    assert (method, params["threadId"], params["excludeTurns"]) == ("thread/resume", "T", True)


def test_the_daemons_secrets_stay_with_the_daemon_and_the_users_key_goes_along(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[model_providers.mine]\nenv_key = "MY_KEY"\n')
    source = {
        "CODEX_HOME": str(tmp_path),
        "MY_KEY": "k",
        "OPENAI_API_KEY": "o",
        "EVERYAGENT_TOKEN": "t",
        "OTHER_SECRET": "s",
    }
    environment = launch.environment({"COLOUR": "blue"}, source)
    assert environment == {"CODEX_HOME": str(tmp_path), "MY_KEY": "k", "OPENAI_API_KEY": "o", "COLOUR": "blue"}


def test_a_key_of_the_environment_is_used_without_a_login(tmp_path: Path) -> None:
    environment = {"CODEX_HOME": str(tmp_path), "OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://x.example"}
    words = " ".join(launch.argv("codex", environment))
    assert 'env_key="OPENAI_API_KEY"' in words
    assert "http://x.example" in words
    assert "sk-secret" not in words
    (tmp_path / "auth.json").write_text("{}")
    assert "env_key" not in " ".join(launch.argv("codex", environment))


def test_the_login_is_reported_without_the_secret(tmp_path: Path) -> None:
    environment = {"CODEX_HOME": str(tmp_path)}
    assert program.login(environment) is None
    assert program.login({**environment, "OPENAI_API_KEY": "k"}) == "OPENAI_API_KEY"
    (tmp_path / "auth.json").write_text('{"OPENAI_API_KEY":"sk-secret","tokens":null}')
    assert program.login(environment) == "an API key that Codex keeps"
    (tmp_path / "auth.json").write_text('{"OPENAI_API_KEY":null,"tokens":{"id_token":"secret"}}')
    assert program.login(environment) == "a ChatGPT account"
