"""A fault in the daemon's own work, or in the look at one session, is logged; the daemon and other sessions go on."""

from typing import cast

import anyio
import pytest

from everyagent import background
from everyagent.background import keep_running
from everyagent.model.asks import AskTimeout
from everyagent.model.events import PermissionResolved, TurnEnded
from everyagent.sessions import Sessions
from everyagent.sessions.actor import Actor
from everyagent.sessions.machine.machine import Machine
from everyagent.sessions.supervisor import Supervisor
from tests.waiting import LIMIT_SECONDS

from .conftest import Opened
from .test_lives import Create

LONG = 100_000.0


@pytest.mark.anyio
async def test_work_that_raises_is_begun_again_until_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE", 0)
    begun: list[str] = []

    async def work(word: str) -> None:
        begun.append(word)
        if len(begun) < 3:
            raise RuntimeError("out of luck")

    with anyio.fail_after(LIMIT_SECONDS):
        await keep_running("test", work, "again")
    assert begun == ["again"] * 3


@pytest.mark.anyio
async def test_a_sweep_that_raises_does_not_end_the_daemon(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = anyio.Event()

    async def broken(_supervisor: Supervisor) -> None:
        swept.set()
        raise RuntimeError("no sweep today")

    monkeypatch.setattr(Supervisor, "sweep", broken)
    async with opened() as sessions:
        with anyio.fail_after(LIMIT_SECONDS):
            await swept.wait()
        ended = [each.data for each in await (await create(sessions)).say("hello") if isinstance(each.data, TurnEnded)]
        assert [each.stop_reason for each in ended] == ["end_turn"]


class BrokenMachine:
    """Raises when its state is looked at, as a bug would."""

    @property
    def state(self) -> object:
        raise RuntimeError("this session's state cannot be read")


@pytest.mark.anyio
async def test_a_session_that_cannot_be_looked_at_keeps_no_other_from_its_deadlines(
    opened: Opened, create: Create
) -> None:
    async with opened(turn_timeout=LONG, interrupt_grace=0.3, idle_timeout=0.1) as sessions:
        broken, silent, asking = [
            await create(sessions),
            await create(sessions, turn_timeout=0.5),
            await create(sessions, ask_timeout=AskTimeout(seconds=0.1)),
        ]
        await broken.say("hello")
        actor = next(each for each in actors_of(sessions) if each.record.session_id == broken.id)
        machine, actor.machine = actor.machine, cast("Machine", BrokenMachine())
        try:
            events = await silent.say("nothing more [hang]")
            assert [each.data.stop_reason for each in events if isinstance(each.data, TurnEnded)] == ["error"]
            events = await asking.say("may I? [ask]")
            assert [each.data.status for each in events if isinstance(each.data, PermissionResolved)] == ["denied"]
        finally:
            actor.machine = machine


def actors_of(sessions: Sessions) -> list[Actor]:
    return sessions._supervisor.actors()  # pyright: ignore[reportPrivateUsage]
