"""An interrupt and a message in one request: the session continues without becoming idle."""

from collections.abc import Callable, Generator

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import ASKING, TOOLSET, Event, Raw, texts
from tests.waiting import wait_until

REDIRECT: list[Event] = [
    {"type": "user.interrupt"},
    {"type": "user.message", "content": [{"type": "text", "text": "[hello]"}]},
]


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def kinds(raw: Raw) -> list[object]:
    return [event["type"] for event in raw.events()]


def rests(raw: Raw) -> int:
    return kinds(raw).count("session.status_idle")


def until(raw: Raw, check: Callable[[], bool]) -> None:
    wait_until(check, lambda: kinds(raw))


def wait_for_answer(raw: Raw) -> None:
    until(raw, lambda: "Hello!" in texts(raw.events()) and kinds(raw)[-1] == "session.status_idle")


def test_a_turn_that_just_started_is_redirected(raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say("[slow seconds=600]")
    raw.send(*REDIRECT)
    wait_for_answer(raw)
    assert rests(raw) == 1


def test_a_running_turn_is_redirected(raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say('[tool command="echo hi"] [slow seconds=600]')
    until(raw, lambda: "agent.tool_result" in kinds(raw))
    raw.send(*REDIRECT)
    wait_for_answer(raw)
    assert rests(raw) == 1


def test_a_session_under_evaluation_is_redirected(raw: Raw) -> None:
    raw.create(TOOLSET)
    rubric = {"type": "text", "content": "[slow seconds=2]"}
    raw.send({"type": "user.define_outcome", "description": "Be there.", "rubric": rubric})
    until(raw, lambda: "span.outcome_evaluation_ongoing" in kinds(raw))
    raw.send(*REDIRECT)
    wait_for_answer(raw)
    assert rests(raw) == 1


def test_a_session_with_a_required_action_is_redirected(raw: Raw) -> None:
    raw.create(ASKING)
    raw.say("[tool]")
    raw.wait_idle("requires_action")
    raw.send(*REDIRECT)
    wait_for_answer(raw)
    assert rests(raw) == 2
