"""ACP agents that break the protocol: a clear error on the session, never a hang, nothing lost."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from own_session import FAKE, OwnSession
from tests.agents.collecting_listener import CollectingListener

from everyagent.agents.acp import driver
from everyagent.agents.acp.adapter import AcpAdapter
from everyagent.agents.acp.driver import AcpConversation
from everyagent.agents.acp.own import profile_of
from everyagent.agents.adapter import Launch, Prompt
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.agents import OwnAgent
from everyagent.model.events import Error, ItemDelta, PermissionRequested, PermissionResolved, TurnEnded, Unparsed
from everyagent.model.items import text_of
from everyagent.model.parts import JsonPart
from everyagent.runtime.stdin import Stdin


def test_another_protocol_version_is_a_clear_error(session: OwnSession) -> None:
    session.create(agent="newer")
    assert "speaks version 2 of the Agent Client Protocol" in (session.failed().error or "")


def test_a_missing_login_is_a_clear_error(session: OwnSession) -> None:
    session.create(agent="locked")
    session.failed()
    (error,) = session.all(Error)
    assert error.code == "auth"
    assert "not logged in" in error.message


def test_a_program_that_is_gone_is_a_clear_error(session: OwnSession) -> None:
    session.create(agent="gone")
    assert "`no-such-program`, which is no program" in (session.failed().error or "")
    assert [error.code for error in session.all(Error)] == ["agent_not_installed"]


@asynccontextmanager
async def opened(
    word: str, folder: Path, env: dict[str, str], native: str | None = None
) -> AsyncGenerator[tuple[AcpConversation, CollectingListener]]:
    """A conversation with the fake agent, without a daemon."""
    listener = CollectingListener()
    profile = profile_of(word, OwnAgent(command=[sys.executable, str(FAKE), word]))
    launch = Launch(
        session_id="s",
        directory=folder,
        scratch=folder,
        permission_mode="default",
        agent_mode="build",
        env=env,
        native_session_id=native,
    )
    async with anyio.create_task_group() as tasks:
        adapter = AcpAdapter(profile, AdapterContext(TaskSupervisor(tasks), folder))
        yield await adapter.open(launch, listener), listener
        await adapter.close()


async def test_an_agent_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "INITIALIZE_LIMIT", 0.5)
    async with opened("mute", tmp_path, {}) as (_, listener):
        assert "did not answer `initialize`" in ((await listener.death()).message or "")


async def test_a_session_that_is_never_loaded_is_lost_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LOAD_LIMIT", 0.5)
    async with opened("silent", tmp_path, {}, native="s-1") as (_, listener):
        assert (await listener.death()).history_lost


async def test_an_agent_that_stops_reading_is_still_read_and_then_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Stdin.__init__.__kwdefaults__ or {}, "time_limit", 2.0)
    monkeypatch.setattr(driver, "DEATH_LIMIT", 0.5)
    async with opened("friendly", tmp_path, {}) as (conversation, listener):
        await conversation.prompt(Prompt(item_id="i", text="stuffed 20000"))
        death = await listener.death()
    assert "Unread." in "".join(delta.delta for delta in listener.all(ItemDelta))
    assert (death.code, death.expected) == ("timeout", False)
    assert "did not read its input" in (death.message or "")


async def test_an_agent_closes_its_session_before_it_is_ended(tmp_path: Path) -> None:
    kept = tmp_path / "sessions.json"
    async with opened("friendly", tmp_path, {"FAKE_ACP_SESSIONS": str(kept)}) as (conversation, listener):
        await conversation.close()
        assert (await listener.death()).expected
    assert kept.with_suffix(".closed").read_text() == "s-1"


def test_a_result_before_its_call_gets_a_call(session: OwnSession) -> None:
    session.create().turn("early")
    (call,) = session.items("tool_call")
    (result,) = session.items("tool_result")
    assert (call.name, result.status) == ("unannounced", "completed")


def test_the_second_of_two_permissions_with_one_id_is_kept_as_unparsed(session: OwnSession) -> None:
    session.create().send("twice")
    asked = session.next(PermissionRequested)
    session.permit(asked.permission_id, "once")
    session.next(TurnEnded)
    assert len(session.all(PermissionRequested)) == len(session.all(PermissionResolved)) == 1
    assert ["second request with the id 7" in each.error for each in session.all(Unparsed)] == [True]


def test_an_update_of_an_unknown_type_is_an_item_with_its_json(session: OwnSession) -> None:
    session.create().turn("hologram")
    (unknown,) = session.items("unknown")
    assert (unknown.name, unknown.content) == (
        "hologram",
        [JsonPart(json={"sessionUpdate": "hologram", "depth": {"z": 3}})],
    )


def test_updates_after_the_end_of_a_turn_are_kept_outside_of_it(session: OwnSession) -> None:
    session.create().turn("late")
    late = session.until(
        lambda: next((item for item in session.items("message") if text_of(item) == "I am late."), None)
    )
    assert late.turn_id is None
    assert session.said("say And now?") == "And now?"
    assert [item.status for item in session.items("tool_call")] == ["failed"]


def test_a_line_of_600_kilobytes_is_one_delta(session: OwnSession) -> None:
    assert len(session.create().said("big 600000")) == 600_000


def test_a_flood_is_complete(session: OwnSession) -> None:
    session.create()
    assert session.said("flood 5000").split() == [str(number) for number in range(5000)]
    assert len(session.all(ItemDelta)) >= 5000


def test_unknown_messages_are_kept_and_unknown_requests_refused(session: OwnSession) -> None:
    assert session.create().said("odd") == "Refused -32601"
    errors = [each.error for each in session.all(Unparsed)]
    assert len(errors) == 5
    assert [word for word in ("vendor/news", "vendor/question") if not any(word in each for each in errors)] == []
    assert [item.name for item in session.items("unknown")] == ["telepathy"]


def test_an_agent_that_ignores_a_cancel_is_ended(session: OwnSession) -> None:
    session.create().send("deaf")
    session.until_output("Deaf.")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.said("say Still here") == "Still here"


def test_a_dying_agent_is_reported_with_its_exit_code_and_stderr(session: OwnSession) -> None:
    session.create()
    session.failed("die 3")
    (error,) = session.all(Error)
    assert (error.code, error.exit_code) == ("agent_crashed", 3)
    assert "the fake agent dies" in (error.stderr.head or "" if error.stderr else "")
    assert session.said("say Back again") == "Back again"
