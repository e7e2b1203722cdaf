"""Asks outlive the daemon: they stay open after its restart, and a turn gives the agent the answers."""

import msgspec
import pytest

from everyagent.errors import AskClosed, SessionHasEnded, SessionNotFound
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.events import (
    ItemCompleted,
    PermissionRequested,
    PermissionResolved,
    QuestionResolved,
    ToolResolved,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import text_of
from everyagent.model.sessions import AskInfo, ForkSession
from everyagent.sessions import Sessions
from everyagent.sessions.machine.parked import RESUMPTION
from everyagent.testing.rules import check

from .conftest import Opened, Talk
from .test_lives import Create, texts

RESOLVED = (PermissionResolved, QuestionResolved, ToolResolved)
YES, NO = PermissionAnswer(reply="once"), PermissionAnswer(reply="reject", message="Not now.")


async def asking(sessions: Sessions, create: Create, text: str, number: int, **fields: object) -> Talk:
    """A session that waits for so many answers."""
    talk = await create(sessions, **fields)
    await talk.send(text)
    await talk.until(lambda info: info.status == "waiting" and info.pending_asks == number)
    return talk


async def pending(talk: Talk) -> list[AskInfo]:
    return await talk.sessions.asks(talk.id, pending=True)


async def answer(talk: Talk, ask: AskInfo, given: Answer) -> None:
    await talk.sessions.answer(talk.id, ask.ask_id, given)


async def test_asks_stay_open_until_they_are_answered(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[ask command=pwd] [ask command=ls] [ask command=id]", 3)
        before = await pending(talk)
    for _ in before[1:]:  # each answer is followed by another restart
        async with opened() as sessions:
            talk = Talk(sessions, talk.id)
            left = await pending(talk)
            assert [ask.ask_id for ask in left] == [ask.ask_id for ask in before[-len(left) :]]
            assert (await talk.info()).status == "waiting"
            await answer(talk, left[0], YES)
            with pytest.raises(AskClosed):
                await answer(talk, left[0], NO)
            assert (await talk.info()).status == "waiting"
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        waiting = await talk.send("[hello] after the answers")
        (last,) = await pending(talk)
        await answer(talk, last, NO)
        await talk.at_rest()
        events = await talk.events()
        assert check(events, include_raw=True) == []
        turns = [event.data for event in events if isinstance(event.data, TurnStarted)]
        assert len(turns) == 3
        assert turns[2].input_item_ids == [waiting]
        ended = [event.data for event in events if isinstance(event.data, TurnEnded)]
        assert [turn.pending_asks for turn in ended] == [[ask.ask_id for ask in before], [], []]
        items = [event.data.item for event in events if isinstance(event.data, ItemCompleted)]
        (told,) = [text_of(item) for item in items if item.name == RESUMPTION]
        assert told.count("The user allowed bash") == 2
        refused = msgspec.convert(last.request, PermissionRequested)  # the mock agent's asks come in any order
        command = msgspec.json.encode(refused.input).decode()
        assert f"The user did not allow bash({command}). They said: Not now." in told


async def test_a_question_that_was_asked_before_a_restart_is_answered(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[question]", 1)
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        (ask,) = await pending(talk)
        await answer(talk, ask, QuestionAnswer(answers=[["Red"], ["Tests", "Docs"]]))
        await talk.at_rest()
        assert '[["Red"],["Tests","Docs"]]' in texts([*await talk.events()])


async def test_a_session_with_open_asks_is_not_kept_in_memory(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[ask]", 1)
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        await talk.send("[hello] when that is done")  # loads the session
        await talk.until(lambda _: not sessions.held(talk.id))
        (ask,) = await pending(talk)
        await answer(talk, ask, NO)
        await talk.at_rest()
        told = texts([*await talk.events()])
        assert "They said: Not now." in told
        assert "Hello!" in told


@pytest.mark.parametrize("way", ["cancel", "terminate", "delete"])
async def test_open_asks_are_closed_without_an_answer(opened: Opened, create: Create, way: str) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[ask] [ask]", 2)
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        first, _ = await pending(talk)
        await answer(talk, first, YES)
        await talk.send("[hello] when that is done")
        if way == "delete":
            await sessions.delete(talk.id)
            with pytest.raises(SessionNotFound):
                await talk.info()
            return
        if way == "cancel":
            assert await sessions.cancel(talk.id)
            await talk.at_rest()
            assert "Hello!" in texts([*await talk.events()]), "the message that waited had its turn"
            assert "The user allowed" not in texts([*await talk.events()])
        else:
            await sessions.terminate(talk.id)
            with pytest.raises(SessionHasEnded):
                await talk.send("late")
        assert await pending(talk) == []
        events = await talk.events()
        assert sum(isinstance(event.data, RESOLVED) for event in events) == 2
        assert check(events, include_raw=True) == []


async def test_a_fork_of_a_session_with_open_asks_has_none(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[ask] [ask]", 2)
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        first, _ = await pending(talk)
        await answer(talk, first, YES)
        fork = Talk(sessions, (await sessions.fork(talk.id, ForkSession())).session_id)
        assert await pending(fork) == []
        assert "Hello!" in texts([*await fork.say("[hello]")])
        assert check(await fork.events(), include_raw=True) == []
        assert len(await pending(talk)) == 1


@pytest.mark.parametrize("lifetime", ["process", "turn"])
async def test_asks_of_a_session_that_ends_with_its_daemon_are_closed(
    opened: Opened, create: Create, lifetime: str
) -> None:
    async with opened() as sessions:
        talk = await asking(sessions, create, "[ask]", 1, lifetime=lifetime)
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        assert (await talk.info()).ended
        assert await pending(talk) == []
        assert check(await talk.events(), include_raw=True) == []
