"""`budgetUsd` and `budgetTokens` of a session."""

import pytest

from everyagent.errors import BudgetExceeded
from everyagent.model.events import TurnEnded
from everyagent.model.sessions import UpdateSession

from .conftest import Opened, Talk
from .test_lives import Create

#: The agent reports a request to its model, then goes on for an hour.
LONG = "[tool name=bash command=true] [slow seconds=3600]"


async def stop_reasons(talk: Talk) -> list[str]:
    return [event.data.stop_reason for event in await talk.events() if isinstance(event.data, TurnEnded)]


@pytest.mark.parametrize("budget", [{"budget_usd": 1e-9}, {"budget_tokens": 1}], ids=["usd", "tokens"])
async def test_a_turn_over_the_budget_is_stopped_and_messages_are_refused(
    opened: Opened, create: Create, budget: dict[str, float]
):
    async with opened() as sessions:
        talk = await create(sessions, **budget)
        await talk.say(LONG)
        assert await stop_reasons(talk) == ["budget"]
        with pytest.raises(BudgetExceeded, match="Raise the session's `budgetUsd` or `budgetTokens`"):
            await talk.send("[hello]")
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        with pytest.raises(BudgetExceeded):
            await talk.send("[hello]")
        info = await sessions.update(talk.id, UpdateSession(budget_usd=None, budget_tokens=10**9))
        assert (info.budget_usd, info.budget_tokens) == (None, 10**9)
        await talk.say("[hello]")
        assert await stop_reasons(talk) == ["budget", "end_turn"]


async def test_messages_that_wait_go_on_when_the_budget_is_raised(opened: Opened, create: Create):
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send(LONG)
        await talk.received(b'"model.responded"')
        await talk.send("[hello] at last")
        await sessions.update(talk.id, UpdateSession(budget_tokens=1))
        info = await talk.until(lambda info: info.status == "idle")
        assert info.queued_messages == 1
        assert await stop_reasons(talk) == ["budget"]
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        await sessions.update(talk.id, UpdateSession(title="still waiting"))
        assert (await talk.info()).queued_messages == 1
        await sessions.update(talk.id, UpdateSession(budget_tokens=None))
        await talk.at_rest()
        assert await stop_reasons(talk) == ["budget", "end_turn"]
