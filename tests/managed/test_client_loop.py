"""The client loop of the documentation answers every id of every idle event, and never gets an error."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import cast

import pytest

from everyagent.managed.projection.actions import REMEMBERED
from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import ASKING, TOOLSET, WEATHER, Event, Raw, required, stop_of

CUSTOM, COMMAND = "[custom name=get_weather input={}]", "[tool command=pwd]"
FROM_START = {"last-event-id": "0"}
#: The calls of several messages of a model: of the custom tool for a city, and commands.
MESSAGES = [
    ["Oslo", "Rome"],
    [*"ABCDE"],
    [*"FGHIJKLM"],
    ["$ echo one > one", "$ echo two > two"],
    [f"$ echo {number} > {number}" for number in range(5)],
    ["Bonn", "$ echo three > three", "Bern", "$ echo four > four", "Riga"],
]


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def answer_to(use: Event) -> Event:
    if use["type"] == "agent.custom_tool_use":
        city = cast("dict[str, str]", use["input"]).get("city", "town")
        content = [{"type": "text", "text": f"Rain in {city}"}]
        return {"type": "user.custom_tool_result", "custom_tool_use_id": use["id"], "content": content}
    return {"type": "user.tool_confirmation", "tool_use_id": use["id"], "result": "allow"}


def loop(
    raw: Raw, stream: Iterator[Event], answers_to: Callable[[Event], Sequence[Event]] = lambda use: [answer_to(use)]
) -> list[list[Event]]:
    """Answers without any memory of what was answered before. Returns the uses that each idle event required."""
    uses: dict[str, Event] = {}
    idles: list[list[Event]] = []
    for event in stream:
        uses[str(event["id"])] = event
        if event["type"] != "session.status_idle":
            continue
        if stop_of(event) == "end_turn":
            return idles
        idles.append([uses[use] for use in required(event)])
        for use in required(event):
            for answer in answers_to(uses[use]):
                raw.send(answer)
    raise AssertionError("the stream ended before the turn")


def step_of(use: Event) -> str:
    given = cast("dict[str, str]", use["input"])
    return given["city"] if "city" in given else f"$ {given['command']}"


#: The calls of a message of the mock agent.
SEVERAL = [CUSTOM] * 2, [CUSTOM] * 5, [CUSTOM] * 8, [COMMAND] * 2, [COMMAND] * 5, [COMMAND] * 8, [CUSTOM, COMMAND] * 3


@pytest.mark.parametrize("calls", SEVERAL, ids=len)
def test_the_documented_loop_never_gets_an_error(raw: Raw, calls: list[str]) -> None:
    raw.create(ASKING, WEATHER)
    raw.say(" ".join(calls))
    first, *_ = loop(raw, raw.stream(**FROM_START))
    kinds = [CUSTOM if use["type"] == "agent.custom_tool_use" else COMMAND for use in first]
    assert kinds == calls, "one idle event has all actions of a message, in its order"
    answers = [event for event in raw.events() if str(event["type"]).startswith("user.") and "content" not in event]
    results = [event for event in raw.events() if event["type"] == "user.custom_tool_result"]
    assert len(results) + len(answers) == len(calls), "an answer that is repeated is no second event"


def bash(number: int) -> str:
    return f'[custom name=bash input={{"command":"echo {number}"}}]'


def confirmed_result(use: Event) -> list[Event]:
    """A client that confirms, and executes the tool itself."""
    content = [{"type": "text", "text": f"Ran {step_of(use)}"}]
    return [answer_to(use), {"type": "user.tool_result", "tool_use_id": use["id"], "content": content}]


@pytest.mark.parametrize("count", [2, 5, 8])
def test_the_documented_loop_never_gets_an_error_in_a_self_hosted_session(raw: Raw, count: int) -> None:
    raw.create(ASKING, environment={"type": "self_hosted"})
    raw.say(" ".join(bash(number) for number in range(count)))
    first, *_ = loop(raw, raw.stream(**FROM_START), confirmed_result)
    assert [step_of(use) for use in first] == [f"$ echo {number}" for number in range(count)]
    kinds = [event["type"] for event in raw.events()]
    assert kinds.count("user.tool_confirmation") == kinds.count("user.tool_result") == count


def test_a_repeated_confirmation_changes_nothing_before_and_after_the_result(raw: Raw) -> None:
    raw.create(ASKING, environment={"type": "self_hosted"})
    raw.say(bash(1))
    (use,) = required(raw.wait_idle("requires_action"))
    uses = {str(event["id"]): event for event in raw.events()}
    allowed, result = confirmed_result(uses[use])
    denied = {**allowed, "result": "deny"}
    raw.send(allowed)
    assert_repeatable(raw, allowed)
    assert_refused(raw, denied)
    raw.send(result)
    raw.wait_idle("end_turn")
    assert_repeatable(raw, allowed)
    assert_repeatable(raw, result)
    assert_refused(raw, denied)


def test_a_tool_that_needs_no_confirmation_refuses_one(raw: Raw) -> None:
    raw.create(TOOLSET, environment={"type": "self_hosted"})
    raw.say(bash(1))
    (use,) = required(raw.wait_idle("requires_action"))
    assert_refused(raw, {"type": "user.tool_confirmation", "tool_use_id": use, "result": "allow"})


def test_answers_of_long_ago_can_be_repeated_too(raw: Raw) -> None:
    raw.create(ASKING, WEATHER)
    asked: list[Event] = []
    for number in range(3):
        raw.say(" ".join([f'[custom name=get_weather input={{"city":"{number}"}}]'] * 30))
        raw.wait_idle("requires_action")
        uses = [event for event in raw.events() if event["type"] == "agent.custom_tool_use"][len(asked) :]
        raw.send(*map(answer_to, uses))
        raw.wait_idle("end_turn")
        asked += uses
    assert len(asked) > REMEMBERED
    for use in (asked[0], asked[-1]):
        assert_repeatable(raw, answer_to(use))
        assert_refused(raw, {**answer_to(use), "is_error": True})


def assert_repeatable(raw: Raw, answer: Event) -> None:
    before = raw.events()
    raw.send(answer)
    assert raw.events() == before


def assert_refused(raw: Raw, answer: Event) -> None:
    refused = raw.answer("POST", f"{raw.path}/events", {"events": [answer]})
    assert refused.status_code == 400, refused.text


def test_the_same_answer_again_changes_nothing_and_another_is_refused(raw: Raw) -> None:
    raw.create(ASKING, WEATHER)
    raw.say(f"{CUSTOM} {COMMAND}")
    idle = raw.wait_idle("requires_action")
    uses = {str(event["id"]): event for event in raw.events()}
    answers = [answer_to(uses[use]) for use in required(idle)]
    assert len(answers) == 2
    for answer in answers:
        raw.send(answer)
    raw.wait_idle("end_turn")
    before = raw.events()
    repeated = raw.call("POST", f"{raw.path}/events", {"events": answers})["data"]
    assert isinstance(repeated, list)
    assert len(repeated) == 2
    assert raw.events() == before
    for answer in answers:
        other = {**answer, "is_error": True} if "content" in answer else {**answer, "result": "deny"}
        assert_refused(raw, other)
