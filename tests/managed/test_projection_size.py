"""The size of a projection's state, which is written with every step."""

from collections.abc import Iterator

import msgspec

from everyagent.log.log import NewEvent
from everyagent.log.projections import ProjectionRecord, ProjectionStep
from everyagent.managed.projection.document import SessionDocument
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.rebuild import Rebuilt
from everyagent.managed.projection.state import SessionOutcome, State, Thread
from everyagent.managed.sessions.presentation import threads_of
from everyagent.model.events import EventData, ItemCompleted, ItemStarted, TurnEnded, TurnStarted
from everyagent.model.items import Item, ItemKind
from everyagent.model.parts import ContentPart, TextPart, ToolCallPart, ToolResultPart
from tests.managed.test_projection import projector

START = 1_700_000_000_000_000
SUBAGENTS = 300


def item(item_id: str, kind: ItemKind, *content: ContentPart, subagent: str | None = None) -> Item:
    return Item(
        item_id=item_id,
        native_item_id=None,
        parent_id=None,
        kind=kind,
        role="tool" if kind == "tool_result" else "assistant",
        status="completed",
        content=[*content],
        subagent=subagent,
    )


def work_of(number: int) -> Iterator[EventData]:
    """A sub-agent, from the call that starts it to its result."""
    call, arguments = f"itm_call_{number}", '{"prompt": "Look around", "name": "helper"}'
    yield ItemCompleted(item=item(call, "tool_call", ToolCallPart(call_id=call, name="Task", arguments=arguments)))
    said = item(f"itm_said_{number}", "message", TextPart(text="Nothing here."), subagent=call)
    yield ItemStarted(item=said)
    yield ItemCompleted(item=said)
    result = ToolResultPart(call_id=call, output="Nothing there.")
    yield ItemCompleted(item=item(f"itm_result_{number}", "tool_result", result))


def steps_of(projection: Projector, events: Iterator[EventData], at: int = START) -> Iterator[ProjectionStep]:
    for number, data in enumerate(events):
        projection.begin_frame("from_agent", b"{}", at + number)
        projection.event(data)
        projection.end_frame()
        if step := projection.take():
            yield step


def turn(subagents: int) -> Iterator[EventData]:
    yield TurnStarted(turn_id="turn_1", input_item_ids=[])
    for number in range(subagents):
        yield from work_of(number)
    yield TurnEnded(turn_id="turn_1", stop_reason="end_turn")


def record(state: bytes, document: bytes, status: str = "idle", hidden: int = 0) -> ProjectionRecord:
    return ProjectionRecord(
        session=1,
        session_id="sesn_1",
        agent_id="agent_1",
        agent_version=1,
        environment_id="env_1",
        status=status,
        created_at=START,
        updated_at=START,
        archived_at=None,
        head=0,
        hidden=hidden,
        state=state,
        document=document,
    )


def test_the_state_does_not_grow_with_the_sub_agents_of_a_session() -> None:
    projection = projector()
    steps = [*steps_of(projection, turn(SUBAGENTS))]
    assert max(len(step.state) for step in steps) < 2000
    written = [step for step in steps if step.document is not None]
    assert len(written) == 2 * SUBAGENTS, "when a thread is created, and when it comes to rest"
    shown = threads_of(record(steps[-1].state, msgspec.json.encode(projection.document)), START)
    assert len(shown) == SUBAGENTS + 1
    assert [thread.created_at for thread in shown] == sorted(thread.created_at for thread in shown)
    assert {thread.status for thread in shown} == {"idle"}


def test_an_idle_thread_is_not_created_again_by_a_later_message() -> None:
    projection = projector()
    steps = [*steps_of(projection, turn(2))]
    opened = Projector("sesn_1", steps[-1].state, msgspec.json.encode(projection.document))
    more = item("itm_more", "message", TextPart(text="One more thing."), subagent="itm_call_0")
    later = iter([TurnStarted(turn_id="turn_2", input_item_ids=[]), ItemStarted(item=more), ItemCompleted(item=more)])
    kinds = [kind for step in steps_of(opened, later, START + 1000) for kind in kinds_of([*step.events])]
    assert "session.thread_created" not in kinds
    assert "session.thread_status_running" in kinds
    assert [thread.status for thread in opened.threads.values()] == ["running", "idle"]


def kinds_of(events: list[NewEvent]) -> list[str]:
    return [str(msgspec.json.decode(event.body).get("type")) for event in events]


def test_a_state_in_the_older_format_is_read() -> None:
    """As earlier versions wrote it."""
    thread = Thread(id="sthr_1", name="helper", parent=None, status="idle", created_at=START, updated_at=START)
    outcome = SessionOutcome(id="outc_1", description="A greeting.", item="itm_1", max_iterations=3, result="satisfied")
    old = msgspec.json.encode(State(threads={"itm_call": thread}, outcomes=[outcome]))
    document = msgspec.json.encode(SessionDocument(agent={"name": "agent"}, environment_id="env_1"))
    before = threads_of(record(old, document), START)
    assert [shown.id for shown in before[1:]] == ["sthr_1"]
    projection = Projector("sesn_1", old, document)
    (step,) = steps_of(projection, iter([TurnStarted(turn_id="turn_1", input_item_ids=[])]))
    assert step.document is not None
    assert msgspec.json.decode(step.state, type=State).threads == {}
    after = threads_of(record(step.state, step.document), START)
    assert after[1:] == before[1:]
    assert projection.document.outcomes == [outcome]


def test_a_rebuilt_projection_equals_one_in_the_older_format() -> None:
    projection = projector()
    step = [*steps_of(projection, turn(3))][-1]
    step.document = msgspec.json.encode(projection.document)
    state, document = msgspec.json.decode(step.state, type=State), projection.document
    state.threads = document.threads
    old = record(
        msgspec.json.encode(state),
        msgspec.json.encode(msgspec.structs.replace(document, threads={})),
        hidden=step.hidden,
    )
    step.events = []
    assert Rebuilt(step, []).differs_from([], old) is None
    state.threads = {}
    lost = msgspec.structs.replace(old, state=msgspec.json.encode(state))
    assert Rebuilt(step, []).differs_from([], lost) is not None
