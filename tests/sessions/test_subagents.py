"""Stopping one sub-agent while its turn continues."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from msgspec.structs import replace

from everyagent.agents.mock import adapter as mock_adapter
from everyagent.errors import UnsupportedChoice
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import ItemCompleted, PermissionRequested, PermissionResolved, TurnEnded
from everyagent.model.items import Item
from everyagent.model.policies import ToolPolicies
from everyagent.testing.rules import check
from tests.waiting import LIMIT_SECONDS

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]
FOREVER = '[subagent command="echo $((40 + 2)) at work; tail -f /dev/null"]'


async def completed(talk: Talk, kind: str) -> list[Item]:
    data = [event.data for event in await talk.events()]
    return [each.item for each in data if isinstance(each, ItemCompleted) and each.item.kind == kind]


async def tasks(talk: Talk) -> list[Item]:
    return [item for item in await completed(talk, "tool_call") if item.name == "task"]


async def asked(talk: Talk, number: int) -> PermissionRequested:
    with anyio.fail_after(LIMIT_SECONDS):
        while True:
            data = [event.data for event in await talk.events()]
            requests = [each for each in data if isinstance(each, PermissionRequested)]
            if len(requests) >= number:
                return requests[number - 1]
            await anyio.sleep(0.01)


async def test_other_sub_agents_and_the_turn_continue(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send(f'{FOREVER} [subagent command="echo the other one"] [hello]')
        await talk.received(b"42 at work")
        stopped, other = await tasks(talk)
        assert await sessions.cancel_subagent(talk.id, stopped.item_id)
        await talk.at_rest()
        events = await talk.events()
        assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == ["end_turn"]
        results = {item.native_item_id: item for item in await completed(talk, "tool_result") if item.name == "task"}
        assert sorted(item.status for item in results.values()) == ["completed", "failed"]
        inside = [item for item in await completed(talk, "tool_result") if item.subagent]
        assert {item.subagent: item.status for item in inside} == {
            stopped.item_id: "failed",
            other.item_id: "completed",
        }
        assert check(events, include_raw=True) == []
        assert not await sessions.cancel_subagent(talk.id, stopped.item_id), "it does not run any more"
        assert not await sessions.cancel_subagent(talk.id, "itm_nobody")


async def test_asks_of_a_stopped_sub_agent_are_resolved(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions, tool_policies=ToolPolicies(default="ask"))
        await talk.send("[subagent] [hello]")
        first = await asked(talk, 1)
        await sessions.answer(talk.id, first.permission_id, PermissionAnswer(reply="once"))
        await asked(talk, 2)
        (task,) = await tasks(talk)
        assert await sessions.cancel_subagent(talk.id, task.item_id)
        await talk.at_rest()
        resolved = [event.data for event in await talk.events() if isinstance(event.data, PermissionResolved)]
        assert [each.status for each in resolved] == ["approved", "denied"]
        assert check(await talk.events(), include_raw=True) == []


async def test_a_sub_agent_stops_with_its_turn(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send(FOREVER)
        await talk.received(b"42 at work")
        assert await sessions.cancel(talk.id)
        await talk.at_rest()
        events = await talk.events()
        assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == ["interrupted"]
        assert check(events, include_raw=True) == []


async def test_an_agent_that_cannot_stop_a_sub_agent_is_refused(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    unable = replace(mock_adapter.CAPABILITIES, subagent_interrupt=False)
    monkeypatch.setattr(mock_adapter, "CAPABILITIES", unable)
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.send(FOREVER)
        await talk.received(b"42 at work")
        (task,) = await tasks(talk)
        with pytest.raises(UnsupportedChoice, match="cannot stop one of its sub-agents alone"):
            await sessions.cancel_subagent(talk.id, task.item_id)
        await sessions.cancel(talk.id)
        await talk.at_rest()
