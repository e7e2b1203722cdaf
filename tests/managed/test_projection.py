"""Projection of recorded sessions into managed events, checked against the order rules."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from everyagent.log.log import NewEvent
from everyagent.managed.projection.document import SessionDocument
from everyagent.managed.projection.events import ON_THREAD
from everyagent.managed.projection.projector import Projector
from everyagent.model.events import (
    DATA_BY_TYPE,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    SessionStarted,
    SessionUpdated,
    ToolRequested,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.model.parts import TextPart, ToolCallPart
from everyagent.model.tools import TOOLS_SERVER
from everyagent.model.usage import Usage
from everyagent.testing.managed_rules import ManagedRules

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(path.parent for path in GOLDEN.glob("*/*/events.jsonl"))


class Line(msgspec.Struct):
    type: str
    data: msgspec.Raw


def recorded(case: Path) -> Iterator[EventData]:
    started = False
    for text in (case / "events.jsonl").read_bytes().splitlines():
        line = msgspec.json.decode(text, type=Line)
        data = msgspec.json.decode(line.data, type=DATA_BY_TYPE[line.type])
        if isinstance(data, SessionStarted) and started:
            return  # what follows is another session
        started = True
        if not isinstance(data, ItemDelta):
            yield data


def projector(state: bytes = b"{}") -> Projector:
    document = SessionDocument(
        agent={"name": "agent", "tools": [{"type": "agent_toolset_20260401"}]}, environment_id="env_1"
    )
    return Projector("sesn_1", state, msgspec.json.encode(document))


def managed_events(projection: Projector, frames: Sequence[Sequence[EventData]]) -> Iterator[list[NewEvent]]:
    """The managed events of each frame."""
    for number, frame in enumerate(frames):
        projection.begin_frame("from_agent", b"{}", 1_700_000_000_000_000 + number)
        for data in frame:
            projection.event(data)
        projection.end_frame()
        step = projection.take()
        yield [*step.events] if step else []


def own(events: Sequence[NewEvent]) -> list[bytes]:
    return [event.body for event in events if event.type != ON_THREAD]


def frames_of(case: Path) -> list[list[EventData]]:
    """Each event as a frame, with the status update that follows it."""
    frames: list[list[EventData]] = []
    waiting = 0
    for data in recorded(case):
        frames.append([data])
        if data.type.endswith(".requested"):
            waiting += 1
            if waiting == 1:
                frames[-1].append(SessionUpdated(status="waiting"))
        elif data.type.endswith(".resolved"):
            waiting -= 1
            if waiting == 0:
                frames[-1].append(SessionUpdated(status="running"))
    return frames


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_every_prefix_of_a_recorded_session_keeps_the_rules(case: Path) -> None:
    rules = ManagedRules()
    projection = projector()
    for frame, events in zip(frames := frames_of(case), managed_events(projection, frames), strict=True):
        rules.feed(own(events))
        assert projection.state.status == rules.status, "the events and the state agree"
        if any(isinstance(data, TurnEnded) for data in frame):
            assert rules.status in ("idle", "terminated")
    assert any(isinstance(data, TurnStarted) for frame in frames for data in frame) == (projection.state.head > 0)


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_reopened_projection_emits_the_same_events(case: Path) -> None:
    frames = frames_of(case)
    whole = [event.body for events in managed_events(projector(), frames) for event in events]
    projection, pieces = projector(), list[bytes]()
    for number, frame in enumerate(frames):
        projection.begin_frame("from_agent", b"{}", 1_700_000_000_000_000 + number)
        for data in frame:
            projection.event(data)
        projection.end_frame()
        step = projection.take()
        if step:
            pieces += [event.body for event in step.events]
            projection = Projector("sesn_1", step.state, msgspec.json.encode(projection.document))
    assert pieces == whole


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: f"{case.parent.name}-{case.name}")
def test_an_undone_step_leaves_no_trace(case: Path) -> None:
    frames = frames_of(case)
    whole = [event.body for events in managed_events(projector(), frames) for event in events]
    projection, pieces = projector(), list[bytes]()
    for number, frame in enumerate(frames):
        before = projection.snapshot()
        for attempt in range(2):
            projection.begin_frame("from_agent", b"{}", 1_700_000_000_000_000 + number)
            for data in frame:
                projection.event(data)
            projection.end_frame()
            step = projection.take()
            if attempt == 0:
                projection.restore(before)
            elif step:
                pieces += [event.body for event in step.events]
    assert pieces == whole


def test_a_turn_that_reached_its_step_limit_ends_with_an_error() -> None:
    started = TurnStarted(turn_id="turn_1", input_item_ids=[])
    ended = TurnEnded(turn_id="turn_1", stop_reason="max_turns")
    events = [body for frame in managed_events(projector(), [[started], [ended]]) for body in own(frame)]
    assert b'"tool_use_limit_reached_error"' in events[-2]
    assert b'"retries_exhausted"' in events[-1]


def test_messages_of_a_sub_agent_lie_within_its_model_requests() -> None:
    call = Item(
        item_id="itm_call",
        native_item_id=None,
        parent_id=None,
        kind="tool_call",
        role="assistant",
        status="in_progress",
        content=[],
    )
    begun: list[EventData] = [TurnStarted(turn_id="turn_1", input_item_ids=[]), ItemStarted(item=call)]
    frames = [begun]
    for name in ("one", "two"):
        said = Item(
            item_id=f"itm_{name}",
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="assistant",
            status="completed",
            content=[TextPart(text=name)],
            subagent="itm_call",
        )
        frames += [[ItemStarted(item=said)], [ItemCompleted(item=said)]]
        frames.append([ModelResponded(usage=Usage(output_tokens=1), subagent="itm_call")])
    bodies = [event.body for frame in managed_events(projector(), frames) for event in frame if event.type == ON_THREAD]
    kinds = [msgspec.json.decode(body)["event"]["type"] for body in bodies]
    spoken = ["span.model_request_start", "agent.message", "span.model_request_end"]
    assert kinds == ["session.thread_status_running", *spoken, *spoken]


def call_of(name: str) -> Item:
    """A call whose input is not reported."""
    return Item(
        item_id=f"itm_{name}",
        native_item_id=None,
        parent_id=None,
        kind="tool_call",
        role="assistant",
        status="in_progress",
        content=[ToolCallPart(name=name, arguments="", call_id=name, mcp_server=TOOLS_SERVER)],
    )


@pytest.mark.parametrize("item", ["itm_weather", None], ids=["known", "unknown"])
def test_a_call_whose_input_is_never_reported_makes_the_session_idle(item: str | None) -> None:
    asked = ToolRequested(tool_id="tool_1", name="weather", input={}, status="requested", item_id=item)
    frames: list[list[EventData]] = [
        [TurnStarted(turn_id="turn_1", input_item_ids=[])],
        [ItemStarted(item=call_of("weather"))],
        [asked, SessionUpdated(status="waiting")],
    ]
    *_, last = managed_events(projector(), frames)
    assert b'"requires_action"' in own(last)[-1]


def test_a_call_that_is_still_written_makes_the_idle_event_of_another_wait() -> None:
    asked = ToolRequested(tool_id="tool_1", name="weather", input={}, status="requested", item_id="itm_weather")
    completed = msgspec.structs.replace(call_of("news"), status="completed")
    frames: list[list[EventData]] = [
        [TurnStarted(turn_id="turn_1", input_item_ids=[])],
        [ItemStarted(item=call_of("weather")), ItemStarted(item=call_of("news"))],
        [asked, SessionUpdated(status="waiting")],
        [ItemCompleted(item=completed)],
    ]
    *_, waits, last = managed_events(projector(), frames)
    assert b"session.status_idle" not in b"".join(own(waits))
    assert b'"requires_action"' in own(last)[-1]
