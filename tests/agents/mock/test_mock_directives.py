"""Directives of the mock agent, executed by its real program."""

import json
import time
from pathlib import Path

import pytest
from mock_stage import stage
from tests.agents.collecting_listener import CollectingListener

from everyagent.agents.adapter import Prompt
from everyagent.model.events import Error, ItemDelta, ItemStarted, Unparsed
from everyagent.model.items import Item, reasoning_of, text_of
from everyagent.model.parts import FileRefPart, ImagePart, StatusPart, ToolCallPart, ToolResultPart
from everyagent.model.sessions import Attachment


def result_of(item: Item) -> ToolResultPart:
    part = item.content[0]
    assert isinstance(part, ToolResultPart)
    return part


def call_of(item: Item) -> ToolCallPart:
    part = item.content[0]
    assert isinstance(part, ToolCallPart)
    return part


def assert_orderly(listener: CollectingListener) -> None:
    """Each item is started once, completed once, and its deltas add up. A status arrives complete."""
    started = [draft.item.item_id for draft in listener.all(ItemStarted)]
    completed = [item.item_id for kind in ("message", "tool_call", "tool_result") for item in listener.items(kind)]
    assert sorted(started) == sorted(set(completed)) == sorted(completed)
    joined: dict[tuple[str, str], str] = {}
    for delta in listener.all(ItemDelta):
        joined[delta.item_id, delta.kind] = joined.get((delta.item_id, delta.kind), "") + delta.delta
    for item in listener.items("message"):
        assert joined.get((item.item_id, "text"), "") == text_of(item)
        assert joined.get((item.item_id, "reasoning"), "") == reasoning_of(item)
    for item in listener.items("tool_call"):
        assert joined[item.item_id, "tool_input"] == call_of(item).arguments
        json.loads(call_of(item).arguments)


async def test_text_outside_directives_is_repeated_word_by_word(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        ended = await on.turn("one  two\nthrée [not a directive]")
        assert ended.stop_reason == "end_turn"
        assert on.listener.texts() == ["one  two\nthrée [not a directive]"]
        assert len(on.listener.all(ItemDelta)) == 6
        assert_orderly(on.listener)


async def test_each_turn_reports_its_usage_and_cost(tmp_path: Path) -> None:
    async with stage(tmp_path, model="mock-large") as on:
        ended = await on.turn("[text words=400]")
        assert ended.usage
        assert ended.usage.input_tokens > 0
        assert ended.usage.output_tokens > 300
        assert ended.cost_usd
        assert ended.turn_id == ""


async def test_an_empty_prompt_gets_an_answer(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("  ")
        assert on.listener.texts() == ["(You said nothing.)"]


async def test_directives_are_executed_in_order(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("before [hello] between [text words=3] after")
        assert on.listener.texts()[0] == "before"
        assert on.listener.texts()[1].startswith("Hello!")
        assert on.listener.texts()[2:] == ["between", "the quick brown", "after"]


async def test_reasoning_comes_before_text_in_the_same_message(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[reasoning]")
        assert [part.__struct_config__.tag for part in on.listener.items("message")[0].content] == ["reasoning", "text"]
        assert_orderly(on.listener)


async def test_a_bash_tool_runs_in_the_sessions_directory(tmp_path: Path) -> None:
    (tmp_path / "seen.txt").touch()
    async with stage(tmp_path) as on:
        await on.turn('[tool name=bash command="ls; echo oops >&2; exit 7"]')
        [call] = on.listener.items("tool_call")
        [result] = on.listener.items("tool_result")
        assert call_of(call).name == "bash"
        assert result_of(result).call_id == call_of(call).call_id == call.item_id
        assert call.parent_id == result.parent_id == on.listener.items("message")[0].item_id
        assert "seen.txt" in result_of(result).output
        assert "oops" in result_of(result).output
        assert result_of(result).exit_code == 7
        assert result_of(result).duration_ms is not None
        assert result.status == "failed"
        outputs = [delta.delta for delta in on.listener.all(ItemDelta) if delta.kind == "tool_output"]
        assert "".join(outputs) == result_of(result).output
        assert_orderly(on.listener)


async def test_any_other_tool_returns_a_simulated_result(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[tool name=browse url=example.org]")
        assert json.loads(call_of(on.listener.items("tool_call")[0]).arguments) == {"url": "example.org"}
        assert on.listener.items("tool_result")[0].status == "completed"


async def test_adjacent_tools_are_called_in_one_message_and_run_concurrently(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        # Each waits for the other's file: one after the other they would never end.
        await on.turn(
            '[tool command="touch a; while [ ! -e b ]; do sleep 0.01; done"]\n'
            '[tool command="touch b; while [ ! -e a ]; do sleep 0.01; done"] [mcp] then [tool command=true]'
        )
        calls = on.listener.items("tool_call")
        assert len({call.parent_id for call in calls[:3]}) == 1
        assert calls[3].parent_id != calls[0].parent_id
        assert len(on.listener.items("tool_result")) == 4
        assert_orderly(on.listener)


async def test_a_diff_edits_a_file_and_has_a_unified_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    async with stage(tmp_path, permission_mode="acceptEdits") as on:
        await on.turn('[diff path=a.txt line="second one"] [diff path=../escape.txt]')
        results = {item.status: item for item in on.listener.items("tool_result")}
        part = results["completed"].content[1]
        assert isinstance(part, FileRefPart)
        assert (part.path, part.action) == (str(tmp_path / "a.txt"), "patch")
        assert part.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n first\n+second one\n"
        assert (tmp_path / "a.txt").read_text() == "first\nsecond one\n"
        assert "outside" in result_of(results["failed"]).output


async def test_an_image_is_a_real_png_in_the_scratch_folder(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[image]")
        part = on.listener.items("message")[0].content[1]
        assert isinstance(part, ImagePart)
        assert part.mime == "image/png"
        assert Path(part.path).parent == tmp_path / "scratch"
        assert Path(part.path).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


async def test_an_mcp_call_names_its_server(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[mcp name=lookup server=wiki]")
        call = call_of(on.listener.items("tool_call")[0])
        assert (call.name, call.mcp_server) == ("lookup", "wiki")


async def test_a_subagents_items_name_the_call_that_started_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[subagent]")
        [task] = [call for call in on.listener.items("tool_call") if call_of(call).name == "task"]
        inner = [item for kind in ("message", "tool_call", "tool_result") for item in on.listener.items(kind)]
        kinds = sorted(item.kind for item in inner if item.subagent == task.item_id)
        assert kinds == ["message", "message", "message", "tool_call", "tool_result"]
        assert_orderly(on.listener)


async def test_a_plan_is_a_todo_list_of_status_items(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[plan]")
        plans = on.listener.items("status")
        assert len(plans) == 4
        assert {part.detail for part in plans[-1].content if isinstance(part, StatusPart)} == {"completed"}
        assert_orderly(on.listener)


async def test_retries_are_reported_and_the_turn_continues(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        ended = await on.turn("[retry times=3]")
        attempts = [error.retry.attempt for error in on.listener.all(Error) if error.retry]
        assert attempts == [1, 2, 3]
        assert ended.stop_reason == "end_turn"
        assert on.listener.texts() == ["It worked after 3 retries."]


@pytest.mark.parametrize(("asked", "told"), [("rate_limited", "rate_limited"), ("nonsense", "internal")])
async def test_an_error_ends_the_turn(tmp_path: Path, asked: str, told: str) -> None:
    async with stage(tmp_path) as on:
        ended = await on.turn(f"[error code={asked}] never said")
        assert on.listener.all(Error)[0].code == told
        assert (ended.stop_reason, ended.error) == ("error", on.listener.all(Error)[0].message)
        assert on.listener.texts() == []
        assert (await on.turn("still here")).stop_reason == "end_turn"


async def test_an_unknown_frame_is_unparsed_and_kept(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[unparsed]")
        odd = [
            decoded for decoded in on.listener.frames if any(isinstance(draft, Unparsed) for draft in decoded.drafts)
        ]
        assert [decoded.frame.form for decoded in odd] == ["text", "json"]
        assert odd[0].frame.body == b"%% this is no JSON at all"


async def test_a_flood_arrives_complete_and_in_order(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[flood events=5000 size=50]")
        deltas = [delta.delta for delta in on.listener.all(ItemDelta)]
        assert [int(delta[:8]) for delta in deltas] == list(range(5000))
        assert {len(delta) for delta in deltas} == {50}
        assert_orderly(on.listener)


async def test_a_flood_has_an_optional_rate_and_timestamps(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        began = time.monotonic_ns()
        await on.turn("[flood events=100 size=50 rate=500 stamp=true]")
        deltas = [delta.delta for delta in on.listener.all(ItemDelta)]
        assert [int(delta[:8]) for delta in deltas] == list(range(100))
        assert {len(delta) for delta in deltas} == {50}
        stamps = [int(delta[8:28]) for delta in deltas]
        assert stamps == sorted(stamps)
        assert began < stamps[0]
        assert stamps[-1] < time.monotonic_ns()
        assert stamps[-1] - began >= 0.19e9
        assert_orderly(on.listener)


async def test_help_names_every_directive(tmp_path: Path) -> None:
    from everyagent.agents.mock.program.main import _NAMES

    async with stage(tmp_path) as on:
        await on.turn("[help]")
        assert all(f"[{name}" in on.listener.texts()[0] for name in _NAMES)


async def test_whoami_prints_the_launch_settings(tmp_path: Path) -> None:
    async with stage(tmp_path, system_prompt="Be brief.", variant="high", env={"MINE": "1"}, seed="once") as on:
        await on.turn("[whoami]")
        said = on.listener.texts()[0]
        for line in ("model: mock-small", "variant: high", f"directory: {tmp_path}", "turn: 1", "seed: 4 characters"):
            assert line in said
        assert "system prompt: Be brief." in said
        assert "MINE" in said
        assert "EVERYAGENT_TOKEN" not in said


async def test_attachments_are_acknowledged_by_name_and_size(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("12345")
    async with stage(tmp_path) as on:
        attachments = [Attachment(path=str(tmp_path / "notes.txt")), Attachment(data="YWJj", filename="abc.bin")]
        await on.conversation.prompt(Prompt(item_id="i", text="look", attachments=attachments))
        await on.listener.until(lambda: on.listener.texts()[1:] or None)
        assert on.listener.texts() == ["look", "I got notes.txt (5 bytes), abc.bin (3 bytes)."]
