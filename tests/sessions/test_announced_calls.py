"""Calls of custom tools that a message announces: each is asked once, however the agent makes them."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from everyagent.model.events import ToolRequested
from everyagent.model.items import Item
from everyagent.model.parts import ToolCallPart
from everyagent.sessions.machine.announced import AnnouncedCall, AnnouncedCalls


def announce(calls: AnnouncedCalls, number: int, city: str) -> None:
    part = ToolCallPart(
        name="weather", arguments=f'{{"city":"{city}"}}', call_id=f"call {number}", mcp_server="everyagent"
    )
    item = Item(
        item_id=f"itm_{number}",
        native_item_id=None,
        parent_id="itm_message",
        kind="tool_call",
        role="assistant",
        status="completed",
        content=[part],
    )
    calls.add(item, part)


def request(number: int, city: str) -> ToolRequested:
    return ToolRequested(tool_id=f"mcp {number}", name="weather", input={"city": city}, status="requested")


@given(st.lists(st.sampled_from(["Oslo", "Rome"]), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_equal_calls_in_any_order_are_asked_once_each(cities: list[str], chance: Random) -> None:
    calls = AnnouncedCalls(frozenset({"weather"}))
    pending: set[str] = set()
    asked: list[str] = []
    made: dict[int, AnnouncedCall] = {}
    steps = [(number, step) for number in range(len(cities)) for step in ("announce", "make", "answer")]
    chance.shuffle(steps)
    waiting = list(steps)
    while waiting:
        number, step = next(each for each in waiting if each[1] != "answer" or each[0] < len(asked))
        waiting.remove((number, step))
        match step:
            case "announce":
                announce(calls, number, cities[number])
            case "make":
                made[number] = calls.make(request(number, cities[number]))
                calls.open()
            case _:
                pending.discard(asked[number])
        unasked = [*calls.unasked()]
        if step == "make" and not made[number].ask_id and made[number] not in unasked:
            unasked.append(made[number])
        for call in unasked:
            call.ask_id = f"ask {len(asked)}"
            asked.append(call.ask_id)
            pending.add(call.ask_id)
        for done, call in list(made.items()):
            announced = (done, "announce") not in waiting
            if announced and call.ask_id not in pending:
                del made[done]
                assert calls.end(f"call {done}", pending) is None, "the agent made all of them"
    assert len(asked) == len(cities)
