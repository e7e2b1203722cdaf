"""How failures end turns and sessions in the Managed Agents API."""

import json
import os
import signal
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from everyagent.managed.projection.projector import Projector
from everyagent.model.events import Error, EventData, ItemCompleted, ItemStarted, SessionEnded, TurnEnded, TurnStarted
from everyagent.model.items import Item
from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Event, Raw
from tests.managed.test_projection import managed_events, own, projector
from tests.waiting import wait_until

SPOKEN = Item(
    item_id="itm_1", native_item_id=None, parent_id=None, kind="message", role="assistant", status="failed", content=[]
)
CRASH = [
    Error(message="The agent's process ended with exit code 3.", code="agent_crashed", exit_code=3),
    ItemCompleted(item=SPOKEN),
    TurnEnded(turn_id="turn_1", stop_reason="error", error="The agent's process ended with exit code 3."),
]

ENDED = SessionEnded(reason="error", terminated_by="agent", message="It died five times in a row.")


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
    begun = [TurnStarted(turn_id="turn_1", input_item_ids=[]), ItemStarted(item=SPOKEN)]
    events = [body for step in managed_events(projector(), [begun, [*CRASH, ENDED]]) for body in own(step)]
    assert shown([json.loads(body) for body in events]) == ["running", "error terminal", "terminated"]


def with_variable(variable: str) -> Iterator[int]:
    """The processes that have it in their environment."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or belongs to another user
            if variable.encode() in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)


def shown_of(frames: Sequence[Sequence[EventData]], projection: Projector | None = None) -> list[str]:
    steps = managed_events(projection or projector(), frames)
    return shown([json.loads(body) for step in steps for body in own(step)])


def test_no_error_before_a_failed_turn_is_announced_as_a_retry() -> None:
    begun = TurnStarted(turn_id="turn_1", input_item_ids=[])
    refused = Error(message="The key is not valid.", code="auth")
    failed = ["running", "error exhausted", "error exhausted", "idle"]
    assert shown_of([[begun], [refused], CRASH]) == failed, "in frames of their own"
    assert shown_of([[begun, refused, *CRASH]]) == failed


def test_errors_that_the_turn_survives_are_retries() -> None:
    begun = TurnStarted(turn_id="turn_1", input_item_ids=[])
    errors = [Error(message=f"Error {number}") for number in range(30)]
    went_on = ["running", *["error retrying"] * 30]
    assert shown_of([[begun], *[[error] for error in errors], [ItemStarted(item=SPOKEN)]]) == went_on


def test_a_crash_between_turns_is_an_error_at_once() -> None:
    crash = Error(message="The agent's process was killed.", code="agent_crashed")
    begun = TurnStarted(turn_id="turn_1", input_item_ids=[])
    assert shown_of([[crash], [begun], [ItemStarted(item=SPOKEN)]]) == ["error exhausted", "running"]
    assert shown_of([[crash, begun], [ItemStarted(item=SPOKEN)]]) == ["error exhausted", "running"]
    ended = SessionEnded(reason="error", terminated_by="agent", message="It cannot go on.")
    assert shown_of([[crash, ended]]) == ["error terminal", "terminated"]


def test_an_error_that_an_earlier_version_has_held_is_not_lost() -> None:
    stored = b'{"turn":true,"status":"running","held":{"type":"unknown_error","message":"It failed."}}'
    assert shown_of([CRASH], projector(stored)) == ["error exhausted", "error exhausted", "idle"]
    idle = b'{"held":{"type":"unknown_error","message":"It failed."}}'
    begun = TurnStarted(turn_id="turn_1", input_item_ids=[])
    assert shown_of([[begun]], projector(idle)) == ["error exhausted", "running"]


@pytest.mark.parametrize(
    ("ends", "errors"),
    [
        ([*CRASH], ["error exhausted"] * 2),
        ([*CRASH, ENDED], ["error terminal"] * 2),
        ([TurnEnded(turn_id="turn_1", stop_reason="end_turn")], ["error retrying"]),
    ],
    ids=("failed", "session_ended", "survived"),
)
def test_an_error_is_shown_although_actions_are_still_required(ends: list[EventData], errors: list[str]) -> None:
    refused = Error(message="The key is not valid.", code="auth")
    action = b'{"ask_id":"ask_1","kind":"confirmation","name":"bash","input":{}}'
    asked = b'{"turn":true,"status":"idle","waiting":true,"actions":{"evt_1":' + action + b"}}"
    assert [name for name in shown_of([[refused], ends], projector(asked)) if name.startswith("error")] == errors


def test_an_agent_that_is_killed_between_turns_is_an_error_at_once(raw: Raw) -> None:
    mark = uuid.uuid4().hex
    raw.create(TOOLSET, vault_ids=[raw.vault({"MARK_OF_THIS_TEST": mark})])
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    killed = [os.kill(pid, signal.SIGKILL) for pid in with_variable(f"MARK_OF_THIS_TEST={mark}")]
    assert killed
    settled = ["running", "idle", "error exhausted"]
    wait_until(lambda: shown(raw.events()) == settled)
    raw.say("[hello]")
    wait_until(lambda: shown(raw.events()) == [*settled, "running", "idle"])


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
