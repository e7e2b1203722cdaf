"""Limits of a daemon on its sessions, agents and waiting messages."""

from collections.abc import Awaitable, Callable

import pytest

from everyagent.errors import EveryagentError, QueueFull, TooManyAgents, TooManySessions
from everyagent.model.events import Error, TurnEnded
from everyagent.model.sessions import ForkSession

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]


def stops(events: list[object]) -> list[str]:
    data = [event.data for event in events]  # pyright: ignore[reportAttributeAccessIssue]
    return [each.stop_reason for each in data if isinstance(each, TurnEnded)]


async def test_messages_over_the_limit_are_refused_until_some_are_taken(opened: Opened, create: Create) -> None:
    async with opened(max_queued_messages=2) as sessions:
        talk = await create(sessions)
        await talk.send("[slow seconds=600]")
        waiting = [await talk.send(f"number {number}") for number in range(2)]
        with pytest.raises(QueueFull, match="--max-queued-messages") as refused:
            await talk.send("one too many")
        assert (refused.value.status, refused.value.facts) == (429, {"limit": 2})
        assert [each.item_id for each in await sessions.queue(talk.id)] == waiting
        await sessions.cancel(talk.id)
        await talk.at_rest()
        assert stops([*await talk.say("now it is taken")]) == ["end_turn"]


async def test_sessions_over_the_limit_are_refused_until_one_has_ended(opened: Opened, create: Create) -> None:
    async with opened(max_sessions=2) as sessions:
        first, second = await create(sessions), await create(sessions)
        with pytest.raises(TooManySessions, match="--max-sessions") as refused:
            await create(sessions)
        assert (refused.value.status, refused.value.facts) == (409, {"limit": 2})
        with pytest.raises(TooManySessions):
            await sessions.fork(second.id, ForkSession())
        await sessions.terminate(first.id)
        await sessions.fork(second.id, ForkSession())
        with pytest.raises(TooManySessions):
            await create(sessions)


async def test_an_idle_agent_is_stopped_for_another_and_a_busy_one_is_not(opened: Opened, create: Create) -> None:
    async with opened(max_agents=1) as sessions:
        one, two = await create(sessions), await create(sessions)
        await one.say("hello")
        assert stops([*await two.say("hello")]) == ["end_turn"]
        assert (await one.info()).status == "hibernated"
        await two.send("[slow seconds=600]")
        await two.send("a message for an agent that runs is taken")
        before = (await one.info()).event_count
        with pytest.raises(TooManyAgents, match="--max-agents") as refused:
            await one.send("hello again")
        assert (refused.value.status, refused.value.facts) == (503, {"limit": 1})
        assert (await one.info()).event_count == before
        await sessions.cancel(two.id)
        await two.at_rest()
        assert stops([*await one.say("hello again")]) == ["end_turn"]
        assert sessions.live() == 1


async def test_a_turn_that_gets_no_agent_ends_with_an_error_that_names_the_limit(
    opened: Opened, create: Create
) -> None:
    """After a restart, more sessions have waiting messages than agents may run."""
    async with opened() as sessions:
        talks = [await create(sessions) for _ in range(3)]
        for talk in talks:
            await talk.send("[slow seconds=600]")
            await talk.send("[hang]")
    async with opened(max_agents=2) as sessions:
        talks = [Talk(sessions, talk.id) for talk in talks]
        refused = await refused_turn(talks)
        assert refused.code == "limit_exceeded"
        assert "--max-agents" in refused.message
        assert sessions.live() <= 2


async def refused_turn(talks: list[Talk]) -> Error:
    while True:
        for talk in talks:
            await talk.until(lambda info: not info.queued_messages)
            errors = [event.data for event in await talk.events() if isinstance(event.data, Error)]
            if limits := [error for error in errors if error.code == "limit_exceeded"]:
                return limits[0]


def test_the_errors_of_limits_have_codes_of_their_own() -> None:
    kinds: list[type[EveryagentError]] = [QueueFull, TooManySessions, TooManyAgents]
    assert [kind.code for kind in kinds] == ["queue_full", "too_many_sessions", "too_many_agents"]
