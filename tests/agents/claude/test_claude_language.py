"""Decoding and encoding of Claude Code's frames that no recorded exchange has."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everyagent.agents.adapter import Draft, Prompt, Synthetic
from everyagent.agents.claude import encode
from everyagent.agents.claude.asks import ClaudeFormAsk, ClaudePermissionAsk, ClaudePlanAsk
from everyagent.agents.claude.attachments import content
from everyagent.agents.claude.decode import IGNORED, MAPPED, ClaudeDecoder, LapsedAsk, UnservedControlRequest
from everyagent.agents.claude.messages import REMEMBERED
from everyagent.errors import AgentFailed
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import (
    Error,
    ItemCompleted,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    TurnEnded,
    Unparsed,
)
from everyagent.model.items import Item
from everyagent.model.parts import ImagePart, JsonPart, StatusPart, ToolResultPart
from everyagent.model.sessions import Attachment
from everyagent.model.usage import MOST_TOKENS, Usage
from everyagent.runtime.framing import Line

KINDS = ("message", "tool_call", "tool_result")
PAGE = Path(__file__).parents[3] / "docs" / "agents" / "claude.md"


def decoded(decoder: ClaudeDecoder, **frame: object) -> list[Draft]:
    return list(decoder.decode(Line(msgspec.json.encode(frame))).drafts)


def test_the_document_lists_exactly_the_frames_that_the_decoder_knows() -> None:
    table = PAGE.read_text().partition("<!-- frames -->")[2].partition("<!-- end of frames -->")[0]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == set(MAPPED) | IGNORED
    assert {name for name, becomes in rows.items() if becomes.startswith("ignored")} == IGNORED
    assert not set(MAPPED) & IGNORED


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_an_ignored_frame_yields_no_events(name: str) -> None:
    type, _, subtype = name.partition("/")
    assert decoded(ClaudeDecoder(), type=type, subtype=subtype or None) == []


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_decode_as_unparsed(body: bytes) -> None:
    """Bytes that begin like a result end the turn, too."""
    decoded = ClaudeDecoder().decode(Line(body))
    assert decoded.frame.body == body
    assert [type(draft) for draft in decoded.drafts if not isinstance(draft, TurnEnded)] == [Unparsed]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(sorted(MAPPED)).map(lambda name: name.partition("/"))
_fields = st.sampled_from(
    ["message", "event", "request", "response", "uuid", "session_id", "parent_tool_use_id", "result", "task_id"]
)


@given(_names, st.dictionaries(_fields, _json))
def test_a_known_frame_of_any_shape_raises_nothing(name: tuple[str, str, str], rest: dict[str, object]) -> None:
    decoded(ClaudeDecoder(), **{**rest, "type": name[0], "subtype": name[2] or "success"})


def test_a_line_that_was_cut_is_unparsed() -> None:
    (draft,) = ClaudeDecoder().decode(Line(b'{"type":"assistant"', cut=10**9)).drafts
    assert isinstance(draft, Unparsed)
    assert "cut" in draft.error


def test_an_unknown_frame_is_named() -> None:
    (draft,) = decoded(ClaudeDecoder(), type="system", subtype="from_the_future")
    assert isinstance(draft, Unparsed)
    assert "system/from_the_future" in draft.error


def test_an_unknown_request_is_refused_so_that_the_agent_does_not_wait() -> None:
    decoder = ClaudeDecoder()
    assert decoded(decoder, type="control_request", request_id="r", request={"subtype": "mcp_message"}) == []
    assert decoder.effects == [UnservedControlRequest("r", "mcp_message")]
    assert b'"error"' in encode.refuse("r", "mcp_message")


def test_the_memory_of_running_tasks_is_bounded() -> None:
    decoder = ClaudeDecoder()
    for number in range(REMEMBERED + 10):
        decoded(decoder, type="system", subtype="task_started", task_id=f"t{number}", tool_use_id=f"c{number}")
    assert len(decoder.tasks) == REMEMBERED
    assert decoder.tasks[f"c{REMEMBERED + 9}"] == f"t{REMEMBERED + 9}"
    decoded(decoder, type="system", subtype="task_notification", task_id="t20", tool_use_id="c20", status="completed")
    assert "c20" not in decoder.tasks


def test_a_block_of_an_unknown_type_is_kept_whole() -> None:
    block: dict[str, object] = {"type": "compaction", "content": "A summary.", "input": {"kept": 3}}
    message = {"id": "msg_1", "content": [block]}
    (done,) = decoded(ClaudeDecoder(), type="assistant", message=message, parent_tool_use_id=None)
    assert isinstance(done, ItemCompleted)
    assert done.item.content == [JsonPart(json=block)]


def test_absurd_counts_of_tokens_are_bounded() -> None:
    absurd = b"9" * 4300
    frame = b'{"type":"result","subtype":"success","usage":{"input_tokens":%b,"output_tokens":%b}}' % (absurd, absurd)
    (ended,) = ClaudeDecoder().decode(Line(frame)).drafts
    assert isinstance(ended, TurnEnded)
    most = Usage(input_tokens=MOST_TOKENS, output_tokens=MOST_TOKENS)
    assert ended.usage == most
    assert most + most == most


def test_a_result_that_cannot_be_read_ends_its_turn() -> None:
    body = b'{"type":"result","subtype":"success","usage":{"input_tokens":%b}}' % (b"9" * 5000)
    unparsed, ended = ClaudeDecoder().decode(Line(body)).drafts
    assert isinstance(unparsed, Unparsed)
    assert isinstance(ended, TurnEnded)
    assert ended.stop_reason == "error"


def streamed(decoder: ClaudeDecoder) -> list[Draft]:
    """A streamed message with a call, and its result, with ids that are the same in every turn."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    frames: list[dict[str, object]] = [
        {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "msg_1"}}},
        {"type": "stream_event", "event": {"type": "content_block_start", "index": 0, "content_block": use}},
        {"type": "assistant", "message": {"id": "msg_1", "content": [use]}},
        {"type": "stream_event", "event": {"type": "message_stop"}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]}},
    ]
    return [draft for frame in frames for draft in decoded(decoder, **frame)]


@pytest.mark.parametrize("turn_ends", [True, False], ids=["in a later turn", "in the same turn"])
def test_ids_that_the_model_repeats_are_new_items(turn_ends: bool) -> None:
    decoder = ClaudeDecoder()
    told = streamed(decoder)
    if turn_ends:
        decoded(decoder, type="result", subtype="success")
    told += streamed(decoder)
    started = [draft.item for draft in told if isinstance(draft, ItemStarted)]
    completed = [draft.item for draft in told if isinstance(draft, ItemCompleted)]
    assert len({item.item_id for item in started}) == 4  # Claude Code does not report the start of a result
    assert len({item.item_id for item in completed}) == 6
    assert {item.item_id for item in completed} >= {item.item_id for item in started}
    assert {item.native_item_id for item in completed} == {"msg_1", "toolu_1"}
    messages, calls = ([item for item in started if item.kind == kind] for kind in KINDS[:2])
    results = [item for item in completed if item.kind == "tool_result"]
    assert [item.parent_id for item in calls] == [item.item_id for item in messages]
    assert [item.parent_id for item in results] == [item.item_id for item in messages]


def test_a_reference_to_a_repeated_call_id_means_the_last_call() -> None:
    decoder = ClaudeDecoder()
    streamed(decoder)
    decoded(decoder, type="result", subtype="success")
    call = next(item for item in map(_started, streamed(decoder)) if item and item.kind == "tool_call")
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "toolu_1"}
    (asked,) = decoded(decoder, type="control_request", request_id="r", request=request)
    assert isinstance(asked, PermissionRequested)
    assert asked.item_id == call.item_id
    decoded(decoder, type="system", subtype="task_started", task_id="t", tool_use_id="toolu_1")
    assert decoder.tasks == {call.item_id: "t"}
    (said,) = decoded(decoder, type="assistant", message={"id": "msg_9"}, parent_tool_use_id="toolu_1")
    assert isinstance(said, ItemCompleted)
    assert said.item.subagent == call.item_id


def _started(draft: Draft) -> Item | None:
    return draft.item if isinstance(draft, ItemStarted) else None


def test_a_withdrawn_question_is_resolved() -> None:
    decoder = ClaudeDecoder()
    request = {"subtype": "elicitation", "message": "Open it?", "mode": "url", "url": "http://127.0.0.1/"}
    (asked,) = decoded(decoder, type="control_request", request_id="r", request=request)
    assert isinstance(asked, Synthetic)  # the daemon words its prompt
    assert isinstance(asked.data, QuestionRequested)
    assert "http://127.0.0.1/" in asked.data.prompt
    (resolved,) = decoded(decoder, type="control_cancel_request", request_id="r")
    assert isinstance(resolved, QuestionResolved)
    assert decoded(decoder, type="control_cancel_request", request_id="r") == []


def test_a_prompt_cancelled_before_its_turn_ends_the_turn_as_interrupted() -> None:
    decoder = ClaudeDecoder()
    decoder.prompt = "p"
    reply = {"subtype": "success", "request_id": "r", "response": {"still_queued": [], "cancelled": ["p"]}}
    (ended,) = decoded(decoder, type="control_response", response=reply)
    assert isinstance(ended, TurnEnded)
    assert ended.stop_reason == "interrupted"


def test_the_end_of_a_turn_that_the_agent_began_does_not_end_the_users_turn() -> None:
    decoder = ClaudeDecoder()
    decoder.prompt = "p"
    own = {"type": "result", "subtype": "success", "origin": {"kind": "task-notification"}}
    assert decoded(decoder, **own) == []
    (ended,) = decoded(decoder, type="result", subtype="success", user_message_uuids=["p"])
    assert isinstance(ended, TurnEnded)
    (later,) = decoded(decoder, **own)
    assert isinstance(later, TurnEnded)


def test_a_turns_cost_is_the_increase_of_the_sessions_cost() -> None:
    decoder = ClaudeDecoder()
    costs: list[float | None] = []
    for total in (0.25, 0.75):
        (ended,) = decoded(decoder, type="result", subtype="success", total_cost_usd=total)
        assert isinstance(ended, TurnEnded)
        costs.append(ended.cost_usd)
    assert costs == [0.25, 0.5]


def test_a_mode_change_by_the_agent_is_reported_once() -> None:
    decoder = ClaudeDecoder("plan")
    frame = {"type": "system", "subtype": "status", "permissionMode": "bypassPermissions"}
    assert decoded(decoder, **frame) == [SessionUpdated(permission_mode="bypass", agent_mode="build")]
    assert decoded(decoder, **frame) == []


@pytest.mark.parametrize("failed", [False, True])
def test_a_to_do_list_is_a_status_once_its_call_has_succeeded(failed: bool) -> None:
    todos = [{"content": "Sweep", "status": "completed"}, {"content": "Mop", "status": "pending"}]
    block = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}
    decoder = ClaudeDecoder()
    decoded(decoder, type="assistant", uuid="u", message={"id": "m", "content": [block]})
    returned = {"type": "tool_result", "tool_use_id": "t", "content": "ok", "is_error": failed}
    drafts = decoded(decoder, type="user", message={"content": [returned]})
    statuses = [d.item for d in drafts if isinstance(d, ItemCompleted) and d.item.kind == "status"]
    assert len(statuses) == (0 if failed else 1)
    for status in statuses:
        assert status.native_item_id is None
        assert status.content == [
            StatusPart(label="Sweep", detail="completed"),
            StatusPart(label="Mop", detail="pending"),
        ]


def test_an_unknown_block_with_text_is_kept_as_json() -> None:
    block = {"type": "hologram", "text": "?"}
    drafts = decoded(ClaudeDecoder(), type="assistant", uuid="u", message={"id": "m", "content": [block]})
    (item,) = [draft.item for draft in drafts if isinstance(draft, ItemCompleted)]
    assert isinstance(item.content[0], JsonPart)


def test_an_image_in_a_tools_result_is_an_image_part() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "See"}, image]}
    drafts = decoded(ClaudeDecoder(), type="user", uuid="u", message={"content": [result]})
    (item,) = [draft.item for draft in drafts if isinstance(draft, ItemCompleted)]
    assert item.content[1] == ImagePart(path="image", mime="image/png", data="AA==")


def test_a_server_side_tool_is_a_call_with_a_result() -> None:
    found = [{"type": "web_search_result", "url": "http://127.0.0.1/"}]
    blocks = [
        {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": found},
    ]
    drafts = decoded(ClaudeDecoder(), type="assistant", uuid="u", message={"id": "m", "content": blocks})
    done = [draft.item for draft in drafts if isinstance(draft, ItemCompleted)]
    assert [item.kind for item in done] == ["message", "tool_call", "tool_result"]
    assert isinstance(done[2].content[0], ToolResultPart)
    assert "http://127.0.0.1/" in done[2].content[0].output


def test_pending_asks_are_denied_at_the_end_of_the_turn() -> None:
    decoder = ClaudeDecoder()
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}
    decoded(decoder, type="control_request", request_id="r", request=request)
    decoded(decoder, type="result", subtype="success")
    assert decoder.effects == [LapsedAsk("r", ClaudePermissionAsk("Bash", []))]
    assert response(encode.lapse("r", ClaudePermissionAsk("Bash", [])))["behavior"] == "deny"
    assert response(encode.lapse("r", ClaudeFormAsk([], []))) == {"action": "cancel"}


def prompt(*attachments: Attachment) -> Prompt:
    return Prompt(item_id="itm_1", text="See", attachments=list(attachments))


def test_a_prompt_without_attachments_is_sent_as_plain_text_so_that_slash_commands_work(tmp_path: Path) -> None:
    assert content(prompt(), None, tmp_path) == "See"
    assert content(prompt(), "Before", tmp_path) == [encode.text("Before"), encode.text("See")]


def test_images_and_documents_are_sent_as_content_blocks(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(b"png")
    image = Attachment(path=str(tmp_path / "dot.png"), mime="image/png")
    document = Attachment(data="cGRm", mime="application/pdf")
    blocks = content(prompt(image, document), None, tmp_path)
    assert blocks[:2] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}},
    ]


def test_other_attachments_are_sent_as_paths(tmp_path: Path) -> None:
    named = Attachment(path="/data/table.csv", mime="text/csv")
    given = Attachment(data="YSxi", mime="text/csv", filename="../../table.csv")
    first, second, _ = content(prompt(named, given), None, tmp_path / "files")
    assert "/data/table.csv" in str(first)
    assert str(tmp_path / "files" / "table.csv") in str(second)
    assert (tmp_path / "files" / "table.csv").read_text() == "a,b"


def test_an_image_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="could not be read"):
        content(prompt(Attachment(path=str(tmp_path / "none.png"), mime="image/png")), None, tmp_path)


def test_a_hook_is_an_item_that_starts_and_completes() -> None:
    decoder = ClaudeDecoder()
    begun = decoded(decoder, type="system", subtype="hook_started", hook_id="h", hook_name="Stop")
    ended = decoded(decoder, type="system", subtype="hook_response", hook_id="h", hook_name="Stop", exit_code=2)
    assert isinstance(begun[0], ItemStarted)
    assert isinstance(ended[0], ItemCompleted)
    assert ended[0].item.status == "failed"


@pytest.mark.parametrize(("status", "kinds"), [("allowed", []), ("allowed_warning", [ItemCompleted])])
def test_a_rate_limit_is_reported_when_it_is_near(status: str, kinds: list[type]) -> None:
    drafts = decoded(ClaudeDecoder(), type="rate_limit_event", uuid="u", rate_limit_info={"status": status})
    assert [type(draft) for draft in drafts] == kinds


def test_a_reached_rate_limit_is_an_error() -> None:
    (error,) = decoded(
        ClaudeDecoder(), type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": 1.5}
    )
    assert isinstance(error, Error)
    assert error.code == "rate_limited"


def response(frame: bytes) -> dict[str, object]:
    return msgspec.json.decode(frame)["response"]["response"]


def test_always_without_suggestions_allows_the_tool_for_the_session() -> None:
    said = response(encode.answer("r", ClaudePermissionAsk("mcp__sums__add", []), PermissionAnswer(reply="always")))
    rule = {"toolName": "mcp__sums__add"}
    assert said["updatedPermissions"] == [
        {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    ]


def test_form_answers_are_converted_to_the_types_of_the_schema() -> None:
    ask = ClaudeFormAsk(["name", "age", "weight", "member"], ["string", "integer", "number", "boolean"])
    answer = QuestionAnswer(answers=[["Ann"], ["41"], ["60.5"], ["yes"]])
    assert response(encode.answer("r", ask, answer)) == {
        "action": "accept",
        "content": {"name": "Ann", "age": 41, "weight": 60.5, "member": True},
    }
    assert response(encode.answer("r", ask, QuestionAnswer(answers=None))) == {"action": "decline"}


def test_any_other_answer_to_a_plan_rejects_it_with_that_text() -> None:
    said = response(encode.answer("r", ClaudePlanAsk(), QuestionAnswer(answers=[["Use fewer steps"]])))
    assert said == {"behavior": "deny", "message": "Use fewer steps"}


def test_an_answer_of_another_kind_is_refused() -> None:
    with pytest.raises(AgentFailed):
        encode.answer("r", ClaudePlanAsk(), ToolAnswer(output="?"))
