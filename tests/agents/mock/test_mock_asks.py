"""Permissions and questions of the mock agent."""

from pathlib import Path

import pytest
from mock_stage import stage

from everyagent.agents.adapter import Change
from everyagent.model.asks import PermissionAnswer, QuestionAnswer
from everyagent.model.events import PermissionRequested, QuestionRequested, TurnEnded


async def test_an_approved_command_runs(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[ask command='touch done'] and on")
        asked = await on.listener.next(PermissionRequested)
        assert (asked.tool, asked.input) == ("bash", {"command": "touch done"})
        assert asked.options == ["once", "always", "reject"]
        assert asked.item_id == on.listener.items("tool_call")[0].item_id
        assert not (tmp_path / "done").exists()
        await on.conversation.answer(asked.permission_id, PermissionAnswer(reply="once"))
        assert (await on.listener.next(TurnEnded)).stop_reason == "end_turn"
        assert (tmp_path / "done").exists()
        assert on.listener.texts()[-1] == "and on"


async def test_a_rejected_command_does_not_run_and_the_turn_continues(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[ask command='touch done'] and on")
        asked = await on.listener.next(PermissionRequested)
        await on.conversation.answer(asked.permission_id, PermissionAnswer(reply="reject", message="too risky"))
        await on.listener.next(TurnEnded)
        assert not (tmp_path / "done").exists()
        assert on.listener.items("tool_result")[0].error == "rejected: too risky"
        assert on.listener.texts()[1:] == ["I did not run bash: rejected: too risky", "and on"]


async def test_an_always_permission_survives_a_restart_of_the_process(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[ask]")
        asked = await on.listener.next(PermissionRequested)
        await on.conversation.answer(asked.permission_id, PermissionAnswer(reply="always"))
        await on.listener.next(TurnEnded)
        await on.turn("[ask]")
        assert len(on.listener.all(PermissionRequested)) == 1
        native = await on.native_id()
    async with stage(tmp_path, native_session_id=native) as on:
        await on.turn("[ask]")
        assert on.listener.all(PermissionRequested) == []


async def test_two_permissions_of_one_message_are_pending_at_the_same_time(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[ask command='touch one'] [ask command='touch two']")
        second = await on.listener.next(PermissionRequested, 2)
        first = await on.listener.next(PermissionRequested)
        assert first.permission_id != second.permission_id
        await on.conversation.answer(second.permission_id, PermissionAnswer(reply="once"))
        await on.conversation.answer(first.permission_id, PermissionAnswer(reply="reject"))
        await on.listener.next(TurnEnded)
        assert len([name for name in ("one", "two") if (tmp_path / name).exists()]) == 1


@pytest.mark.parametrize(
    ("mode", "prompt", "asks"),
    [
        ("default", "[ask]", True),
        ("default", "[diff]", True),
        ("acceptEdits", "[ask]", True),
        ("acceptEdits", "[diff]", False),
        ("bypass", "[ask] [diff]", False),
    ],
)
async def test_the_permission_mode_decides_which_tools_need_permission(
    tmp_path: Path, mode: str, prompt: str, asks: bool
) -> None:
    async with stage(tmp_path, permission_mode=mode) as on:
        await on.say(prompt)
        if asks:
            await on.listener.next(PermissionRequested)
        else:
            await on.listener.next(TurnEnded)
            assert all(item.status == "completed" for item in on.listener.items("tool_result"))


@pytest.mark.parametrize("plan", [{"permission_mode": "plan"}, {"agent_mode": "plan"}])
async def test_plan_mode_refuses_every_tool(tmp_path: Path, plan: dict[str, str]) -> None:
    async with stage(tmp_path, **plan) as on:
        await on.turn("[tool command='touch done'] [diff] [ask]")
        assert [item.status for item in on.listener.items("tool_result")] == ["failed"] * 3
        assert "plan mode" in (on.listener.items("tool_result")[0].error or "")
        assert list(tmp_path.iterdir()) == [tmp_path / "scratch"]


async def test_the_answers_to_a_question_reach_the_agent(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[question]")
        asked = await on.listener.next(QuestionRequested)
        assert [question.multi_select for question in asked.questions] == [False, True]
        assert (asked.prompt, asked.options) == (asked.questions[0].prompt, ["Red", "Green", "Blue"])
        answer = QuestionAnswer(answers=[["Red"], ["Docs", "a café"]])
        await on.conversation.answer(asked.question_id, answer)
        await on.listener.next(TurnEnded)
        assert on.listener.texts() == ["You answered: Red; Docs, a café."]


async def test_a_rejected_question_does_not_stop_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[question]")
        asked = await on.listener.next(QuestionRequested)
        await on.conversation.answer(asked.question_id, QuestionAnswer(answers=None, message="later"))
        await on.listener.next(TurnEnded)
        assert on.listener.texts() == ["You did not want to answer: later."]


async def test_changes_take_effect_in_the_live_process(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("hi")
        assert await on.conversation.change(Change(model="mock-large", variant="high", permission_mode="bypass"))
        await on.turn("[whoami] [ask]")
        said = on.listener.texts()[1]
        for line in ("model: mock-large", "variant: high", "permission mode: bypass", "agent mode: build", "turn: 2"):
            assert line in said
        assert await on.conversation.change(Change(model=None))
        await on.turn("[whoami]")
        assert "model: mock-small" in on.listener.texts()[-1]
        assert "variant: high" in on.listener.texts()[-1]
