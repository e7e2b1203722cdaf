"""When a session ends by itself: its lifetime, and agents that can never go on. The real agents: `tests/agents`."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from everyagent.agents.adapter import Launch, Listener
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.agents.mock.driver import MockConversation
from everyagent.errors import AgentNotInstalled, SessionHasEnded
from everyagent.model.events import Error, SessionEnded, TurnEnded
from everyagent.model.sessions import ForkSession
from everyagent.testing.rules import check

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]


async def end_of(talk: Talk) -> SessionEnded:
    await talk.until(lambda info: info.ended)
    events = await talk.events()
    assert check(events, include_raw=True) == []
    assert isinstance(events[-1].data, SessionEnded)
    return events[-1].data


async def test_a_turn_session_ends_with_the_result_of_its_turn(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talks = [await create(sessions, lifetime="turn") for _ in range(3)]
        for talk, text in zip(talks, ("hello", "[error code=auth message=refused]", "[hang]"), strict=True):
            await talk.send(text)
        await talks[2].until(lambda info: info.status == "running")
        await sessions.cancel(talks[2].id)
        completed, failed, cancelled = [await end_of(talk) for talk in talks]
        assert completed == SessionEnded(reason="completed", terminated_by="agent")
        assert failed == SessionEnded(reason="error", terminated_by="agent", message="refused")
        assert cancelled == SessionEnded(reason="terminated", terminated_by="daemon")
        with pytest.raises(SessionHasEnded):
            await talks[0].send("more")


async def test_a_process_session_does_not_hibernate_and_ends_with_the_daemon(opened: Opened, create: Create) -> None:
    async with opened(idle_timeout=0.05) as sessions:
        kept, other = await create(sessions, lifetime="process"), await create(sessions)
        await kept.say("hello")
        await other.say("hello")
        await other.until(lambda info: info.status == "hibernated")
        assert (await kept.info()).status == "idle"
        await kept.say("again")
    async with opened() as sessions:
        assert await end_of(Talk(sessions, kept.id)) == SessionEnded(reason="terminated", terminated_by="daemon")
        fork = await sessions.fork(kept.id, ForkSession())
        assert fork.lifetime == "open"


async def test_a_process_session_is_not_retried(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions, lifetime="process")
        await talk.send("[exit]")
        ended = await end_of(talk)
        assert (ended.reason, ended.terminated_by, ended.exit_code) == ("error", "agent", 5)
        assert ended.stderr
        assert ended.stderr.head == "mock: exit as asked for"
        assert not [event for event in await talk.events() if isinstance(event.data, Error) and event.data.retry]


async def test_an_agent_that_dies_five_times_in_a_row_ends_its_session(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dead(self: MockConversation, prompt: object) -> None:
        await self._lines.process.stop(0)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(MockConversation, "prompt", dead)
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("hello")  # a try, and two more
        await talk.send("hello again")
        ended = await end_of(talk)
        assert (ended.reason, ended.terminated_by) == ("error", "agent")
        assert "5 times in a row" in (ended.message or "")
        assert len([event for event in await talk.events() if isinstance(event.data, TurnEnded)]) == 2


async def test_a_session_ends_if_the_program_it_had_is_gone(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(self: MockAdapter, launch: Launch, listener: Listener) -> object:
        raise AgentNotInstalled("The program of the mock agent is gone.")

    async with opened(idle_timeout=0.05) as sessions:
        talk, fresh = await create(sessions), await create(sessions)
        await talk.say("hello")
        await talk.until(lambda info: info.status == "hibernated")
        monkeypatch.setattr(MockAdapter, "open", missing)
        await talk.send("hello again")
        ended = await end_of(talk)
        assert (ended.reason, ended.terminated_by) == ("error", "agent")
        assert ended.message == "The program of the mock agent is gone."
        await fresh.say("hello")  # it never had an agent, so that installing one mends it
        assert not (await fresh.info()).ended


async def test_a_history_that_is_lost_and_cannot_be_seeded_ends_the_session(
    opened: Opened, create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = MockAdapter.open

    async def forgetful(self: MockAdapter, launch: Launch, listener: Listener) -> MockConversation:
        return await original(self, replace(launch, native_session_id="lost"), listener)

    async with opened() as sessions:
        talk = await create(sessions)
        monkeypatch.setattr(MockAdapter, "open", forgetful)
        await talk.send("hello")
        ended = await end_of(talk)
        assert (ended.reason, ended.terminated_by) == ("error", "agent")
        assert "history" in (ended.message or "")
