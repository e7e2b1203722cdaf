"""How failures end turns and sessions in the Managed Agents API."""

import json
from collections.abc import Generator
from typing import cast

import pytest

from everyagent.model.events import Error, ItemCompleted, ItemStarted, SessionEnded, TurnEnded, TurnStarted
from everyagent.model.items import Item
from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Event, Raw
from tests.managed.test_projection import managed_events, own, projector

SPOKEN = Item(
    item_id="itm_1", native_item_id=None, parent_id=None, kind="message", role="assistant", status="failed", content=[]
)
CRASH = [
    Error(message="The agent's process ended with exit code 3.", code="agent_crashed", exit_code=3),
    ItemCompleted(item=SPOKEN),
    TurnEnded(turn_id="turn_1", stop_reason="error", error="The agent's process ended with exit code 3."),
]


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def shown(events: list[Event]) -> list[str]:
    """The types of errors and statuses; an error with its retry status."""
    names: list[str] = []
    for event in events:
        kind = str(event["type"])
        if kind == "session.error":
            error = cast("dict[str, dict[str, str]]", event["error"])
            names.append(f"error {error['retry_status']['type']}")
        elif kind.startswith("session.status_"):
            names.append(kind.removeprefix("session.status_"))
    return names


def test_a_crash_is_one_error_and_not_announced_as_a_retry(raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say("[crash]")
    raw.wait_idle("retries_exhausted")
    assert shown(raw.events()) == ["running", "error exhausted", "idle"]


def test_a_failure_that_ends_the_session_is_terminal() -> None:
    ended = SessionEnded(reason="error", terminated_by="agent", message="It died five times in a row.")
    begun = [TurnStarted(turn_id="turn_1", input_item_ids=[]), ItemStarted(item=SPOKEN)]
    events = [body for step in managed_events(projector(), [begun, [*CRASH, ended]]) for body in own(step)]
    assert shown([json.loads(body) for body in events]) == ["running", "error terminal", "terminated"]


def test_a_stream_ends_when_the_session_is_terminated(raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say("Hello")
    raw.wait_idle("end_turn")
    raw.call("POST", f"{raw.path}/archive")
    events = list(raw.stream(**{"last-event-id": "0"}))
    assert events[-1]["type"] == "session.status_terminated"
    assert not list(raw.stream()), "nothing follows, so nothing is waited for"


def test_a_stream_ends_when_the_session_is_deleted(raw: Raw) -> None:
    raw.create(TOOLSET)
    stream = raw.stream(**{"last-event-id": "0"})
    raw.say("Hello")
    assert next(stream)["type"] == "user.message"
    raw.wait_idle("end_turn")
    raw.call("DELETE", raw.path)
    assert [event["type"] for event in stream][-1] == "session.deleted"
