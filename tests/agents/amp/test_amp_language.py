"""Decoding and encoding of Amp's lines, including unknown and malformed ones."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from everyagent.agents.adapter import Draft, Echo, NativeSession, Prompt
from everyagent.agents.amp import encode
from everyagent.agents.amp.attachments import MAX_IMAGES, content
from everyagent.agents.amp.decode import MAPPED, AmpDecoder
from everyagent.agents.amp.failures import code_of
from everyagent.model.events import Error, ItemCompleted, TurnEnded, TurnStarted, Unparsed
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ImagePart, JsonPart, ReasoningPart, ToolResultPart
from everyagent.model.sessions import Attachment
from everyagent.runtime.framing import Line

PAGE = Path(__file__).parents[3] / "docs" / "agents" / "amp.md"


def decoded(decoder: AmpDecoder, **frame: object) -> list[Draft]:
    return list(decoder.decode(Line(msgspec.json.encode(frame))).drafts)


def assistant_message(
    decoder: AmpDecoder, *blocks: dict[str, object], stop_reason: str | None = "end_turn"
) -> list[Draft]:
    message = {"role": "assistant", "content": blocks, "stop_reason": stop_reason}
    return decoded(decoder, type="assistant", message=message, parent_tool_use_id=None, session_id="T-1")


def user_message(decoder: AmpDecoder, *blocks: dict[str, object]) -> list[Draft]:
    return decoded(decoder, type="user", message={"role": "user", "content": blocks})


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def prompted(words: str = "go") -> AmpDecoder:
    decoder = AmpDecoder()
    decoder.prompted([words])
    user_message(decoder, text(words))
    return decoder


def items(drafts: list[Draft]) -> list[Item]:
    return [draft.item for draft in drafts if isinstance(draft, ItemCompleted)]


def returned(tool: str, input: dict[str, object], output: str, *, is_error: bool = False) -> Item:
    decoder = prompted()
    assistant_message(decoder, {"type": "tool_use", "id": "TU-1", "name": tool, "input": input}, stop_reason="tool_use")
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": "TU-1", "content": output, "is_error": is_error}
    (item,) = items(user_message(decoder, block))
    return item


# -- lines --------------------------------------------------------------------------------------------------------


def test_the_document_lists_exactly_the_frames_that_the_decoder_knows() -> None:
    table = PAGE.read_text().partition("<!-- frames -->")[2].partition("<!-- end of frames -->")[0]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == set(MAPPED)


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_decode_as_unparsed(body: bytes) -> None:
    assume(not body.startswith(b"No API key found."))
    told = AmpDecoder().decode(Line(body))
    assert told.frame.body == body
    assert [type(draft) for draft in told.drafts] == [Unparsed]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_blocks = st.dictionaries(
    st.sampled_from(["type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error"]),
    _json | st.sampled_from(["text", "tool_use", "tool_result", "thinking"]),
)
_messages = st.fixed_dictionaries({"content": st.lists(_blocks | _json, max_size=3)}) | _json


@given(st.sampled_from(sorted(MAPPED)), st.dictionaries(st.sampled_from(["session_id", "error", "is_error"]), _json))
def test_a_known_frame_of_any_shape_raises_nothing(name: str, rest: dict[str, object]) -> None:
    type, _, subtype = name.partition("/")
    decoded(AmpDecoder(), **{**rest, "type": type, **({"subtype": subtype} if subtype else {})})


@given(st.sampled_from(["assistant", "user"]), _messages)
def test_a_message_of_any_shape_raises_nothing(type: str, message: object) -> None:
    decoded(AmpDecoder(), type=type, message=message)


_tools = st.sampled_from(["shell_command", "create_file", "edit_file", "apply_patch", "Read", "mcp__a__b", "other"])


@given(_tools, st.dictionaries(st.sampled_from(["path", "content", "patchText"]), _json), st.text() | _json.map(str))
def test_a_tool_result_of_any_text_is_a_tool_result(tool: str, input: dict[str, object], output: str) -> None:
    assert returned(tool, input, output).kind == "tool_result"


@given(_tools, _json.map(lambda each: msgspec.json.encode(each).decode()))
def test_a_tool_result_of_any_json_is_a_tool_result(tool: str, output: str) -> None:
    assert returned(tool, {"path": "a"}, output).kind == "tool_result"


def test_a_line_that_was_cut_is_unparsed() -> None:
    (draft,) = AmpDecoder().decode(Line(b'{"type":"assistant"', cut=10**9)).drafts
    assert isinstance(draft, Unparsed)
    assert "cut" in draft.error


def test_an_unknown_frame_is_named() -> None:
    (draft,) = decoded(AmpDecoder(), type="system", subtype="from_the_future")
    assert isinstance(draft, Unparsed)
    assert "system/from_the_future" in draft.error


def test_an_unknown_block_is_an_item_with_its_json() -> None:
    drafts = assistant_message(prompted(), text("Here:"), {"type": "hologram", "depth": [1, {"z": 2}]})
    message, unknown = items(drafts)
    assert (unknown.kind, unknown.name, unknown.parent_id) == ("unknown", "hologram", message.item_id)
    assert unknown.content == [JsonPart(json={"type": "hologram", "depth": [1, {"z": 2}]})]


def test_redacted_thinking_is_a_private_reasoning_part() -> None:
    (item,) = items(assistant_message(prompted(), {"type": "redacted_thinking", "data": "x"}, text("Hm.")))
    assert item.content[0] == ReasoningPart(text="", visibility="private")


def test_the_token_of_a_login_link_is_not_stored() -> None:
    decoder = AmpDecoder()
    decoder.decode(Line(b"No API key found. Starting login flow..."))
    kept = decoder.decode(Line(b"https://ampcode.com/auth/cli-login?authToken=abcdef")).frame.body
    assert decoder.wants_login
    assert kept == b"https://ampcode.com/auth/cli-login?authToken="


# -- turns --------------------------------------------------------------------------------------------------------


def ends(drafts: list[Draft]) -> list[str]:
    return [draft.stop_reason for draft in drafts if isinstance(draft, TurnEnded)]


def test_a_turn_ends_after_the_reply_to_a_steered_message() -> None:
    decoder = prompted()
    decoder.prompted(["and this"])
    assert ends(assistant_message(decoder, text("One."))) == []
    user_message(decoder, text("and this"))
    assert ends(assistant_message(decoder, text("Two."))) == ["end_turn"]


def test_an_echoed_prompt_with_additional_text_is_recognised() -> None:
    decoder = AmpDecoder()
    decoder.prompted(["go"])
    drafts = user_message(decoder, text("Something of the server's"), text("go"))
    assert [type(draft) for draft in drafts] == [TurnStarted, Echo]
    assert ends(assistant_message(decoder, text("Gone."))) == ["end_turn"]


def test_the_end_of_an_earlier_turn_does_not_end_this_one() -> None:
    decoder = AmpDecoder()
    decoder.prompted(["second"])
    assert ends(assistant_message(decoder, text("The first's answer."))) == []
    user_message(decoder, text("second"))
    assert ends(assistant_message(decoder, text("The second's."))) == ["end_turn"]


def test_a_message_without_a_stop_reason_ends_the_turn_as_interrupted() -> None:
    assert ends(assistant_message(prompted(), text("Half a"), stop_reason=None)) == ["interrupted"]


def test_a_result_ends_only_an_open_turn() -> None:
    decoder = prompted()
    assert ends(decoded(decoder, type="result", subtype="success")) == ["end_turn"]
    assert decoder.finished
    assert decoded(decoder, type="result", subtype="success") == []
    (error,) = decoded(decoder, type="result", subtype="error_during_execution", is_error=True, error="Oh")
    assert isinstance(error, Error)


def test_the_thread_is_the_native_session() -> None:
    decoder = AmpDecoder()
    assert decoded(decoder, type="system", subtype="init", session_id="T-1") == [NativeSession("T-1")]
    assert decoder.thread == "T-1"


def test_each_permission_is_matched_to_a_different_call() -> None:
    decoder = prompted()
    call = {"type": "tool_use", "name": "async_shell_command", "input": {"command": "ls"}}
    assistant_message(decoder, {**call, "id": "TU-1"}, {**call, "id": "TU-2"}, stop_reason="tool_use")
    for id in ("TU-1", "TU-2"):
        found = decoder.call_for("shell_command", {"command": "ls"})
        assert found
        assert found.key == id
        found.asked = True
    assert decoder.call_for("shell_command", {"command": "ls"}) is None


def test_a_call_without_text_belongs_to_the_message_that_made_it() -> None:
    call: dict[str, object] = {"type": "tool_use", "id": "TU-1", "name": "Read", "input": {}}
    message, called = items(assistant_message(prompted(), call, stop_reason="tool_use"))
    assert (message.kind, message.content, called.parent_id) == ("message", [], message.item_id)


def test_call_ids_that_a_later_turn_repeats_are_new_items() -> None:
    decoder = prompted()
    call: dict[str, object] = {"type": "tool_use", "id": "TU-1", "name": "Read", "input": {}}
    result: dict[str, object] = {"type": "tool_result", "tool_use_id": "TU-1", "content": "x"}
    keys: list[str] = []
    for _ in range(2):
        keys += [item.item_id for item in items(assistant_message(decoder, call, stop_reason="tool_use"))]
        keys += [item.item_id for item in items(user_message(decoder, result))]
        assistant_message(decoder, text("Done."))
    assert len(set(keys)) == 6


def test_an_ended_turn_is_counted_if_the_next_one_begins_at_once() -> None:
    decoder = prompted()
    decoder.decode(Line(b'{"type":"assistant","message":{"content":[],"stop_reason":"end_turn"}}'))
    decoder.prompted(["more"])
    assert decoder.in_turn
    assert decoder.turns_ended == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Model Provider Overloaded Try again in a few seconds.", "overloaded"),
        ("Context Limit Reached This conversation …", "context_exceeded"),
        ("Rate Limit Hit", "rate_limited"),
        ("Unauthorized", "auth"),
        ("Out of Credits Add credits", "auth"),
        ("Model Not Found", "model_not_found"),
        ("Model Stream Timed Out", "timeout"),
        ("Error: Couldn't connect to the Amp server at http://127.0.0.1:9.", "network"),
        ("Anything else", None),
    ],
)
def test_error_codes_are_derived_from_messages(words: str, code: str | None) -> None:
    assert code_of(words) == code


# -- results ------------------------------------------------------------------------------------------------------


def test_a_rejected_call_is_failed_though_amp_reports_success() -> None:
    item = returned("shell_command", {"command": "rm"}, "Tool rejected by plugin: Rejected by a rule")
    assert item.status == "failed"
    assert isinstance(item.content[0], ToolResultPart)
    assert item.content[0].is_error


def test_a_result_without_a_call_is_an_item() -> None:
    (item,) = items(user_message(prompted(), {"type": "tool_result", "tool_use_id": "TU-9", "content": "x"}))
    assert item.native_item_id == "TU-9"


def test_an_mcp_result_is_split_into_text_and_image_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image", "data": "aQ==", "mimeType": "image/png"}]
    item = returned("mcp__sums__add", {}, msgspec.json.encode(parts).decode())
    assert item.content[0] == ToolResultPart(call_id="TU-1", output="a", is_error=False)
    assert item.content[1] == ImagePart(path="image", mime="image/png", data="aQ==")


def test_the_result_of_an_unknown_tool_is_a_json_part() -> None:
    assert returned("other", {}, '{"a":1}').content[1] == JsonPart(json={"a": 1})


def test_reading_a_directory_is_not_a_file_ref() -> None:
    item = returned("Read", {"path": "/w"}, '{"absolutePath":"/w","content":"a\\nb","isDirectory":true}')
    assert len(item.content) == 1


def test_a_path_in_a_uri_is_decoded() -> None:
    item = returned(
        "apply_patch", {}, '{"files":[{"uri":"file:///w/a%20b.txt","type":"add","diff":"@@ -0,0 +1 @@\\n+x"}]}'
    )
    assert item.content[1] == FileRefPart(
        path="/w/a b.txt", action="write", diff="--- /dev/null\n+++ b/w/a b.txt\n@@ -0,0 +1 @@\n+x\n"
    )


# -- messages to Amp ----------------------------------------------------------------------------------------------


def test_attachments_precede_the_text_of_a_message(tmp_path: Path) -> None:
    image = Attachment(data="aQ==", mime="image/png", filename="i.png")
    other = Attachment(data="YSxi", mime="text/csv", filename="../../table.csv")
    prompt = Prompt(item_id="itm_1", text="See", attachments=[image, other])
    before, first, second, words = content(prompt, ["Before"], tmp_path)
    assert (before, first, words) == (encode.text("Before"), encode.image("image/png", "aQ=="), encode.text("See"))
    assert str(tmp_path / "table.csv") in str(second)


def test_images_over_the_limit_of_amp_are_sent_as_paths(tmp_path: Path) -> None:
    images = [Attachment(data="aQ==", mime="image/png", filename=f"{n}.png") for n in range(MAX_IMAGES + 1)]
    blocks = content(Prompt(item_id="itm_1", text="See", attachments=images), [], tmp_path)
    assert [block["type"] for block in blocks].count("image") == MAX_IMAGES
    assert str(tmp_path / f"{MAX_IMAGES}.png") in str(blocks)
