"""Life of a session: turns, queue, hibernation, crashes, cancels, asks, changes, restarts and forks."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path

import anyio
import pytest

from everyagent.agents.adapter import Change, Prompt
from everyagent.agents.mock import adapter as mock_adapter
from everyagent.agents.mock.driver import MockConversation
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import AgentFailed, AskClosed, AskNotFound, SessionHasEnded, UnsupportedChoice
from everyagent.model.asks import PermissionAnswer, QuestionAnswer
from everyagent.model.events import (
    Error,
    ItemCompleted,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import text_of
from everyagent.model.sessions import ForkSession, SendMessage, UpdateSession
from everyagent.sessions.limits import Limits
from everyagent.testing.rules import check

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]


def texts(events: list[object]) -> str:
    data = [event.data for event in events]  # pyright: ignore[reportAttributeAccessIssue]
    return " ".join(text_of(each.item) for each in data if isinstance(each, ItemCompleted))


async def test_messages_during_a_turn_are_queued_and_get_turns_of_their_own(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        items = [await talk.send(f"number {number} [text words=3]") for number in range(4)]
        await talk.at_rest()
        started = [event.data for event in await talk.events() if isinstance(event.data, TurnStarted)]
        assert [turn.input_item_ids for turn in started] == [[item] for item in items]


async def test_a_queued_message_survives_a_restart(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[slow seconds=60]")
        waiting = await talk.send("after the restart")
        await talk.until(lambda info: info.status == "running")
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        await talk.at_rest()
        events = await talk.events()
        assert [waiting] in [event.data.input_item_ids for event in events if isinstance(event.data, TurnStarted)]
        assert check(events, include_raw=True) == []


async def test_an_idle_session_hibernates_and_the_next_message_resumes_it_natively(
    opened: Opened, create: Create
) -> None:
    async with opened(idle_timeout=0.1) as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        info = await talk.until(lambda info: info.status == "hibernated")
        again = await talk.say("[whoami]")
        assert (await talk.info()).native_session_id == info.native_session_id
        assert "turn: 2" in texts([*again])


async def test_a_crash_in_a_turn_gives_one_error_and_the_session_continues(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        events = await talk.say("words [crash]")
        errors = [event.data for event in events if isinstance(event.data, Error)]
        ended = [event.data for event in events if isinstance(event.data, TurnEnded)]
        assert [(error.code, error.exit_code) for error in errors] == [("agent_crashed", 3)]
        assert errors[0].stderr is not None
        assert [turn.stop_reason for turn in ended] == ["error"]
        assert any(isinstance(event.data, ItemCompleted) and event.data.item.status == "failed" for event in events)
        assert "hello again" in texts([*await talk.say("hello again")])


async def test_an_agent_that_dies_before_any_output_is_started_again_within_a_budget(
    opened: Opened, create: Create
) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        events = await talk.say("[exit] still here")
        retries = [event.data.retry for event in events if isinstance(event.data, Error) and event.data.retry]
        assert [(retry.attempt, retry.max) for retry in retries] == [(1, 2)]
        assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == ["end_turn"]


async def test_a_lost_native_history_is_reported_and_replaced_by_the_transcript(
    opened: Opened, create: Create, tmp_path: Path
) -> None:
    async with opened(idle_timeout=0.1) as sessions:
        talk = await create(sessions)
        await talk.say("remember the word aardvark")
        before = await talk.until(lambda info: info.status == "hibernated")
        for file in (tmp_path / "data" / "scratch").rglob("*.json"):
            file.unlink()
        events = await talk.say("hello")
        told = [event.data for event in events if isinstance(event.data, Error)]
        assert told[0].details == {"history_lost": True}
        after = await talk.info()
        assert after.native_session_id not in (None, before.native_session_id)
        assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == ["end_turn"]


async def test_cancel_stops_the_turn_and_keeps_the_session(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        assert await sessions.cancel(talk.id) is False
        await talk.send("[slow seconds=60]")
        assert await sessions.cancel(talk.id) is True
        await talk.at_rest()
        ended = [event.data.stop_reason for event in await talk.events() if isinstance(event.data, TurnEnded)]
        assert ended == ["interrupted"]
        assert "hello" in texts([*await talk.say("hello")])


async def test_a_turn_that_ignores_the_interrupt_is_ended_by_force(opened: Opened, create: Create) -> None:
    async with opened(interrupt_grace=0.3) as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        await talk.send("here I am [hang deaf=true]")
        await talk.received(b"here I am")
        assert await sessions.cancel(talk.id)
        await talk.at_rest()
        ended = [event.data.stop_reason for event in await talk.events() if isinstance(event.data, TurnEnded)]
        assert ended == ["end_turn", "interrupted"]
        assert "hello" in texts([*await talk.say("hello")])


class Unwilling(MockConversation):
    """Does not return from `prompt` until it is closed."""

    async def prompt(self, prompt: Prompt) -> None:
        if prompt.text != "never taken":
            return await super().prompt(prompt)
        await self.steer(prompt)
        with anyio.fail_after(30):
            await self.gone.wait()
        raise AgentFailed("It went away.")

    async def close(self, *, force: bool = False) -> None:
        self.gone.set()
        await anyio.sleep(0.05)
        await super().close(force=force)

    @cached_property
    def gone(self) -> anyio.Event:
        return anyio.Event()


class Undying(MockConversation):
    """Cannot be closed."""

    async def close(self, *, force: bool = False) -> None:
        raise AgentFailed("It does not end.")


async def test_a_cancelled_turn_is_interrupted_though_its_agent_never_accepted_it(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mock_adapter, "MockConversation", Unwilling)
    async with opened(interrupt_grace=0.1) as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        await talk.send("never taken")
        await talk.received(b"steered")
        assert await sessions.cancel(talk.id)
        await talk.at_rest()
        ended = [event.data.stop_reason for event in await talk.events() if isinstance(event.data, TurnEnded)]
        assert ended == ["end_turn", "interrupted"]


async def test_a_cancelled_turn_ends_though_its_agent_does_not(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(interrupt_grace=0.1) as sessions:
        with monkeypatch.context() as patch:
            patch.setattr(mock_adapter, "MockConversation", Undying)
            talk = await create(sessions)
            await talk.say("hello")
            await talk.send("here I am [hang deaf=true]")
            await talk.received(b"here I am")
        assert await sessions.cancel(talk.id)
        await talk.at_rest()
        ended = [event.data.stop_reason for event in await talk.events() if isinstance(event.data, TurnEnded)]
        assert ended == ["end_turn", "interrupted"]
        assert "turn: 3" in texts([*await talk.say("[whoami]")])
        assert check(await talk.events(), include_raw=True) == []


async def test_an_ask_is_answered_once_and_a_second_answer_gets_the_first(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[ask]")
        await talk.until(lambda info: info.status == "waiting")
        (ask,) = await sessions.asks(talk.id, pending=True)
        await sessions.answer(talk.id, ask.ask_id, PermissionAnswer(reply="reject", message="not today"))
        with pytest.raises(AskClosed) as refused:
            await sessions.answer(talk.id, ask.ask_id, PermissionAnswer(reply="once"))
        assert refused.value.facts["firstAnswer"] == {
            "kind": "permission",
            "reply": "reject",
            "message": "not today",
        }
        with pytest.raises(AskNotFound):
            await sessions.answer(talk.id, "perm_unknown", PermissionAnswer(reply="once"))
        await talk.at_rest()
        resolved = [event.data for event in await talk.events() if isinstance(event.data, PermissionResolved)]
        assert [(each.status, each.message) for each in resolved] == [("denied", "not today")]


async def test_questions_are_answered_one_list_for_each(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[question]")
        await talk.until(lambda info: info.status == "waiting")
        (ask,) = await sessions.asks(None, pending=True)
        (asked,) = [event.data for event in await talk.events() if isinstance(event.data, QuestionRequested)]
        assert [question.multi_select for question in asked.questions] == [False, True]
        answers = [["Blue"], ["Tests", "something else"]]
        await sessions.answer(talk.id, ask.ask_id, QuestionAnswer(answers=answers))
        await talk.at_rest()
        events = await talk.events()
        (resolved,) = [event.data for event in events if isinstance(event.data, QuestionResolved)]
        assert (resolved.status, resolved.answers, resolved.response) == ("answered", answers, "Blue")
        assert "something else" in texts([*events])


async def test_asks_of_a_cut_turn_are_resolved_with_a_reason(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[ask]")
        await talk.until(lambda info: info.status == "waiting")
        await sessions.cancel(talk.id)
        await talk.at_rest()
        (resolved,) = [event.data for event in await talk.events() if isinstance(event.data, PermissionResolved)]
        assert resolved.status == "denied"
        assert resolved.message


async def test_a_message_can_be_steered_into_the_running_turn(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[slow seconds=60]")
        await talk.until(lambda info: info.event_count > 10)
        await sessions.send(talk.id, SendMessage(message="to the left", delivery="steer"))
        await talk.received(b"steered: to the left")
        await sessions.cancel(talk.id)
        await talk.at_rest()
        events = await talk.events()
        assert len([event for event in events if isinstance(event.data, TurnStarted)]) == 1
        assert check(events, include_raw=True) == []


async def test_model_variant_and_modes_change_mid_session(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        change = UpdateSession(model="mock-large", variant="high", permission_mode="bypass", title="A title")
        info = await sessions.update(talk.id, change)
        assert (info.model, info.variant, info.permission_mode, info.title) == (
            "mock-large",
            "high",
            "bypass",
            "A title",
        )
        told = texts([*await talk.say("[whoami] [ask]")])
        assert "mock-large" in told
        assert "high" in told
        updates = [event.data for event in await talk.events() if isinstance(event.data, SessionUpdated)]
        assert SessionUpdated(model="mock-large", variant="high", permission_mode="bypass", title="A title") in updates
        with pytest.raises(UnsupportedChoice, match="mock-small"):
            await sessions.update(talk.id, UpdateSession(model="gpt-1"))


class Unchangeable(MockConversation):
    async def change(self, change: Change) -> bool:
        return False


async def test_a_change_that_only_a_restart_applies_restarts_the_idle_agent(
    create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mock_adapter, "MockConversation", Unchangeable)
    settings = Settings(data_dir=tmp_path / "data")
    async with sessions_of(settings, limits=Limits()) as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        await sessions.update(talk.id, UpdateSession(model="mock-large"))
        await talk.until(lambda info: info.status == "hibernated")
        told = texts([*await talk.say("[whoami]")])
        assert "mock-large" in told
        assert "turn: 2" in told


async def test_a_terminated_session_has_ended_and_accepts_nothing(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send("[slow seconds=60]")
        await talk.send("never said")
        await talk.until(lambda info: info.status == "running")
        await sessions.terminate(talk.id)
        await sessions.terminate(talk.id)
        with pytest.raises(SessionHasEnded):
            await talk.send("hello")
        with pytest.raises(SessionHasEnded):
            await sessions.update(talk.id, UpdateSession(title="late"))
        events = await talk.events()
        assert events[-1].data == SessionEnded(reason="terminated", terminated_by="daemon")
        assert check(events, include_raw=True) == []


async def test_a_restart_ends_the_open_turn_once_and_the_next_message_resumes(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("hello")
        before = await talk.info()
        native = before.native_session_id
        await talk.send("[slow seconds=60]")
        await talk.until(lambda info: info.event_count > before.event_count + 9)  # the agent speaks
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        assert (await talk.info()).status == "hibernated"
        assert "turn: 3" in texts([*await talk.say("[whoami]")])
        assert (await talk.info()).native_session_id == native
        events = await talk.events()
        ended = [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)]
        assert ended == ["end_turn", "interrupted", "end_turn"]
        assert check(events, include_raw=True) == []


async def test_a_fork_has_the_events_up_to_its_cut_and_continues_separately(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("the first thing")
        cut = (await talk.info()).event_count
        await talk.say("the second thing")
        fork = await sessions.fork(talk.id, ForkSession(session_id="the-fork", sequence=cut))
        assert fork.forked_from is not None
        forked = Talk(sessions, "the-fork")
        told = texts([*await forked.events()])
        assert "the first thing" in told
        assert "the second thing" not in told
        await forked.say("the third thing")
        events = await forked.events()
        assert check(events, include_raw=True) == []
        assert "the third thing" not in texts([*await talk.events()])


async def test_secrets_of_a_session_reach_only_its_agent(opened: Opened, create: Create, tmp_path: Path) -> None:
    async with opened() as sessions:
        talk = await create(sessions, env={"MY_SECRET": "hunter2-hunter2"})
        info = await talk.info()
        assert info.env == ["MY_SECRET"]
        assert "MY_SECRET" in texts([*await talk.say("[whoami]")])
        assert b"hunter2" not in b"".join(await talk.bodies())
        frames, _ = await sessions.frames(talk.id, after=0, limit=1000)
        assert "hunter2" not in repr(frames)
    for file in (tmp_path / "data").rglob("*"):
        if file.is_file():
            assert b"hunter2" not in file.read_bytes(), file
