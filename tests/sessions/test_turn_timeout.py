"""Turns in which the agent sends nothing are warned of, then ended with an error."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import cast

import pytest
from msgspec.structs import replace

from everyagent.model.asks import PermissionAnswer
from everyagent.model.decoding import decode_event
from everyagent.model.events import Error, ItemCompleted, PermissionRequested, TurnEnded
from everyagent.sessions.actor import Actor, Plan
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.inputs import answer_batch
from everyagent.sessions.watchdog import Watchdog
from everyagent.testing.rules import check
from tests.sessions.test_machine import Session, received, started_session
from tests.sessions.test_sequencer import message

from .conftest import Opened, Talk

Create = Callable[..., Awaitable[Talk]]
LONG = 100_000.0
#: An agent that starts says nothing, and on a busy machine it takes its time.
LONGER_THAN_A_START = 4.0


@pytest.mark.anyio
@pytest.mark.parametrize("words", ["[hang]", "[hang deaf=true]"], ids=["obedient", "deaf"])
async def test_a_silent_turn_is_warned_of_and_ended_with_an_error(opened: Opened, create: Create, words: str) -> None:
    async with opened(turn_timeout=LONG, interrupt_grace=0.3) as sessions:
        talk = await create(sessions, turn_timeout=LONGER_THAN_A_START)
        assert (await talk.info()).turn_timeout == LONGER_THAN_A_START
        events = await talk.say(f"here I am {words}")
        assert check(await talk.events(), include_raw=True) == []
        warning, error, ended = [
            event
            for event in events
            if isinstance(event.data, Error | TurnEnded)
            or (isinstance(event.data, ItemCompleted) and event.data.item.name == "turn_timeout")
        ]
        assert (warning.synthetic, warning.source) == (True, "daemon")
        assert isinstance(warning.data, ItemCompleted)
        assert warning.data.item.kind == "status"
        assert isinstance(error.data, Error)
        assert (error.data.code, error.data.details) == ("timeout", {"turn_timeout": LONGER_THAN_A_START})
        assert "`turnTimeout`" in error.data.message
        assert isinstance(ended.data, TurnEnded)
        assert (ended.data.stop_reason, ended.data.error) == ("error", error.data.message)
        again = await talk.say("hello again")
        assert [event.data.stop_reason for event in again if isinstance(event.data, TurnEnded)] == ["end_turn"]


class SilentActor:
    """The actor of a machine without an agent, watched on a clock of its own."""

    def __init__(self, session: Session, **limits: float) -> None:
        self.machine, self.record = session.machine, session.state.record
        self.session = session
        self._acts: list[tuple[Callable[..., Coroutine[None, None, None]], tuple[object, ...]]] = []
        self._watchdog = Watchdog(Limits(sweep_every=1, **limits), self._spawn)  # pyright: ignore[reportArgumentType]
        self._now = 0.0
        self.look(1)

    def _spawn(self, _workspace: str, act: Callable[..., Coroutine[None, None, None]], *args: object) -> None:
        self._acts.append((act, args))

    async def submit(self, plan: Plan) -> Decision | None:
        batch = plan(None, self.record)
        return self.session.take(batch) if batch else None

    def look(self, times: int, step: float = 1.0) -> list[str]:
        """The types of the events that the looks caused."""
        before = len(self.session.bodies)
        for _ in range(times):
            self._now += step
            self._watchdog.look({"silent": cast(Actor, self)}, self._now)
            for act, args in self._acts:
                with pytest.raises(StopIteration):  # it waits for nothing here
                    act(*args).send(None)
            self._acts.clear()
        return [decode_event(body).type for body in self.session.bodies[before:]]


def test_the_warning_comes_at_three_quarters_of_the_timeout() -> None:
    actor = SilentActor(started_session(), turn_timeout=100)
    assert actor.look(74) == []
    assert actor.look(1) == ["item.started", "item.completed"]
    assert actor.look(24) == []
    assert actor.look(1) == ["error"]
    assert actor.look(1000) == []


def test_output_starts_the_time_again() -> None:
    session = started_session()
    actor = SilentActor(session, turn_timeout=100)
    actor.look(99)
    session.take(received([[ItemCompleted(item=message("m1", "Still here."))]]))
    assert actor.look(75) == []
    assert actor.look(1) == ["item.started", "item.completed"]


def test_time_in_which_a_person_is_asked_does_not_count() -> None:
    session = started_session()
    actor = SilentActor(session, turn_timeout=100)
    session.take(received([[PermissionRequested(permission_id="p", action="bash", status="requested")]]))
    assert actor.look(10_000) == []
    session.take(answer_batch(next(iter(session.asks)), PermissionAnswer(reply="once")))
    assert actor.look(75) == []
    assert actor.look(1) == ["item.started", "item.completed"]


def test_time_in_which_a_tool_of_the_daemon_runs_does_not_count() -> None:
    session = started_session()
    actor = SilentActor(session, turn_timeout=100)
    assert session.state.turn
    session.state.turn.own_calls = 1
    assert actor.look(10_000) == []
    session.state.turn.own_calls = 0
    assert actor.look(75) == []
    assert actor.look(2) == ["item.started", "item.completed"]


def test_a_pause_of_the_daemon_does_not_count() -> None:
    """The agent's output waits in its pipe meanwhile."""
    actor = SilentActor(started_session(), turn_timeout=100)
    assert actor.look(37, step=3600) == []


def test_a_session_may_have_no_timeout_though_the_server_has_one() -> None:
    session = started_session()
    session.state.record = replace(session.state.record, config=b'{"directory":"/","turn_timeout":0}')
    assert SilentActor(session, turn_timeout=1).look(1000) == []
