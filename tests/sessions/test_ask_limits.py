"""Agents that ask or start more than a session may have open."""

from everyagent.model.events import EventData, ItemStarted, PermissionRequested
from everyagent.sessions.machine.asks import MAX_OPEN_ASKS
from everyagent.sessions.machine.effects import PassAnswer
from everyagent.sessions.machine.sequencer import MAX_OPEN_ITEMS, Sequencer
from tests.sessions.test_machine import received, started_session
from tests.sessions.test_sequencer import message


def asks(count: int) -> list[EventData]:
    return [
        PermissionRequested(permission_id=f"p{number}", action="bash", status="requested") for number in range(count)
    ]


def test_asks_over_the_limit_are_refused_to_the_agent_and_in_the_log() -> None:
    session = started_session()
    decision = session.take(received([asks(MAX_OPEN_ASKS + 5)]))
    assert decision
    refused = [effect for effect in decision.effects if isinstance(effect, PassAnswer)]
    assert [effect.key for effect in refused] == [f"p{MAX_OPEN_ASKS + number}" for number in range(5)]
    assert len(session.asks) == len(session.state.sequencer.asks) == MAX_OPEN_ASKS
    assert sum(b"its limit" in body for body in session.bodies) == 5


class CountedKey(str):
    """A native id that counts how often one is compared with another."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedKey.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_an_ask_is_found_without_a_look_at_every_other_one() -> None:
    """48,000 asks took 28 seconds of the event loop."""
    sequencer, count = Sequencer(), 2_000
    for number in range(count):
        key = CountedKey(f"p{number}")
        sequencer.apply(PermissionRequested(permission_id=key, action="bash", status="requested"))
    assert len(sequencer.asks) == count
    assert CountedKey.comparisons < 10 * count


def test_the_oldest_open_item_is_closed_when_there_are_too_many() -> None:
    sequencer = Sequencer()
    for number in range(MAX_OPEN_ITEMS):
        sequencer.apply(ItemStarted(item=message(f"m{number}", "")))
    emissions = sequencer.apply(ItemStarted(item=message("last", "")))
    assert [emission.data.type for emission in emissions] == ["item.completed", "item.started"]
    assert len(sequencer.close("The end.")) == MAX_OPEN_ITEMS
