"""Events of OpenCode that were not recorded: out of order, twice, too late, cut, or malformed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_sessions import Session, cases, events_of
from tests.agents.sequenced_session import violations

from everyagent.agents.opencode.decode import tools
from everyagent.agents.opencode.decode.decoder import AbortTurn, CheckTurn, OpencodeDecoder, Snapshot
from everyagent.agents.opencode.decode.effects import AllowPermission
from everyagent.agents.opencode.decode.failures import RETRY_LIMIT
from everyagent.agents.opencode.policy.modes import native
from everyagent.agents.opencode.protocol import native_event, wire
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.events import Error, ItemCompleted, ItemDelta, ItemStarted, TurnEnded, Unparsed
from everyagent.model.items import Item, text_of
from everyagent.model.parts import JsonPart
from everyagent.runtime.framing import Line

MAIN = "ses_main"
#: When the recorded sessions are.
SINCE = 1794770000000


def event(type: str, session: str | None = MAIN, **properties: object) -> NativeEvent:
    about = {"sessionID": session} if session else {}
    return native_event.read(msgspec.json.encode({"id": "evt_1", "type": type, "properties": {**about, **properties}}))


def message(id: str = "msg_1", *, session: str = MAIN, **more: object) -> NativeEvent:
    info: dict[str, object] = {"id": id, "sessionID": session, "role": "assistant", "time": {"created": SINCE}}
    return event("message.updated", session, info={**info, **more})


def done(id: str = "msg_1", *, summary: bool | None = None) -> NativeEvent:
    return message(id, time={"created": SINCE, "completed": SINCE}, finish="stop", summary=summary)


def part(type: str, id: str, *, session: str = MAIN, message: str = "msg_1", **more: object) -> NativeEvent:
    whole = {"type": type, "id": id, "messageID": message, "sessionID": session, **more}
    return event("message.part.updated", session, part=whole)


def text(id: str, words: str, *, end: bool = False) -> NativeEvent:
    return part("text", id, text=words, time={"start": 1, **({"end": 2} if end else {})})


def delta(id: str, words: str, message: str = "msg_1") -> NativeEvent:
    return event("message.part.delta", messageID=message, partID=id, field="text", delta=words)


def bash(status: str, id: str = "prt_c", **state: object) -> NativeEvent:
    return part("tool", id, tool="bash", callID="call_1", state={"status": status, "input": {"command": "x"}, **state})


BUSY = event("session.status", status={"type": "busy"})
IDLE = event("session.status", status={"type": "idle"})


def prompted() -> Session:
    session = Session(MAIN)
    session.prompted()
    return session


def hear(session: Session, *events: NativeEvent) -> Session:
    for each in events:
        session.received(each)
    return session


def ends(session: Session) -> list[TurnEnded]:
    return [event.data for event in session.events if isinstance(event.data, TurnEnded)]


def completed(session: Session, kind: str = "message") -> list[Item]:
    items = [event.data.item for event in session.events if isinstance(event.data, ItemCompleted)]
    return [item for item in items if item.kind == kind and item.role != "user"]


# -- when a turn is over ------------------------------------------------------------------------------------------


def test_an_idle_before_the_message_has_ended_is_not_the_end() -> None:
    session = hear(prompted(), BUSY, message(), IDLE)
    assert ends(session) == []
    assert session.decoder.effects == [CheckTurn()]
    hear(session, done(), IDLE, event("session.idle"), IDLE)
    assert [end.stop_reason for end in ends(session)] == ["end_turn"]


def test_an_idle_of_the_turn_before_does_not_end_the_next() -> None:
    session = hear(prompted(), BUSY, message(), done(), IDLE)
    session.prompted()
    hear(session, IDLE, event("session.idle"), BUSY, IDLE)
    assert len(ends(session)) == 1
    hear(session, message("msg_2"), done("msg_2"), IDLE)
    assert len(ends(session)) == 2


def test_an_interrupt_that_comes_too_late_stops_nothing() -> None:
    session = hear(prompted(), BUSY, message(), done())
    assert session.decoder.turn
    session.decoder.turn.interrupted = True
    assert [end.stop_reason for end in ends(hear(session, IDLE))] == ["end_turn"]


def test_a_message_outside_a_turn_begins_one() -> None:
    session = hear(Session(MAIN), BUSY, message(), done(), IDLE)
    assert [end.stop_reason for end in ends(session)] == ["end_turn"]
    assert violations(session.events) == []


def test_events_after_the_end_of_a_turn_are_ignored() -> None:
    session = hear(prompted(), BUSY, message(), bash("running"), done(), IDLE)
    before = len(session.events)
    hear(session, bash("completed", output="late"), done(), text("prt_1", "late", end=True), IDLE)
    assert len(session.events) == before
    assert violations(session.events) == []


def test_retries_without_end_are_given_up_once() -> None:
    session = hear(prompted(), BUSY, message())
    for attempt in range(1, RETRY_LIMIT + 4):
        hear(session, event("session.status", status={"type": "retry", "attempt": attempt, "message": "no", "next": 0}))
    assert session.decoder.effects == [AbortTurn()]
    errors = [event.data for event in session.events if isinstance(event.data, Error)]
    assert len(errors) == RETRY_LIMIT + 1
    hear(session, done(), IDLE)
    assert [end.stop_reason for end in ends(session)] == ["error"]


def test_a_failure_that_was_recovered_from_is_no_failure_of_the_turn() -> None:
    failure = {"name": "ContextOverflowError", "data": {"message": "full"}}
    session = hear(prompted(), BUSY, message(), event("session.error", error=failure), done())
    hear(session, message("msg_2", summary=True), done("msg_2", summary=True), message("msg_3"), done("msg_3"), IDLE)
    assert [(end.stop_reason, end.error) for end in ends(session)] == [("end_turn", None)]


def test_messages_older_than_the_turn_are_ignored() -> None:
    session = hear(prompted(), BUSY, message("msg_0", time={"created": SINCE - 1, "completed": SINCE - 1}))
    compacted = {"output": "old", "time": {"start": 1, "end": 2, "compacted": 3}}
    hear(session, bash("completed", "prt_0", **compacted))
    assert completed(session) == completed(session, "tool_result") == []
    assert ends(hear(session, IDLE)) == []


def test_a_failure_without_a_session_ends_no_turn() -> None:
    session = hear(prompted(), event("session.error", None, error={"name": "UnknownError", "data": {}}))
    assert ends(session) == []


# -- order and repetition -----------------------------------------------------------------------------------------


def test_a_part_before_its_message_makes_a_stub() -> None:
    session = hear(prompted(), BUSY, text("prt_1", ""), delta("prt_1", "Hello"))
    started = [event for event in session.events if isinstance(event.data, ItemStarted)][-1]
    assert started.synthetic
    hear(session, message(), text("prt_1", "Hello", end=True), done(), IDLE)
    assert [text_of(item) for item in completed(session)] == ["Hello"]
    assert violations(session.events) == []


def test_a_delta_before_everything_makes_a_stub_too() -> None:
    session = hear(prompted(), BUSY, delta("prt_1", "Hello"), text("prt_1", "Hello", end=True), done(), IDLE)
    assert [text_of(item) for item in completed(session)] == ["Hello"]
    assert violations(session.events) == []


def test_the_end_of_a_message_may_come_before_its_parts() -> None:
    session = hear(prompted(), BUSY, done(), BUSY, text("prt_1", ""), delta("prt_1", "Hel"), delta("prt_1", "lo"))
    hear(session, text("prt_1", "Hello", end=True), part("step-finish", "prt_2"), done(), IDLE)
    assert [text_of(item) for item in completed(session)] == ["Hello"]
    assert len(ends(session)) == 1
    assert violations(session.events) == []


def test_repeated_events_change_nothing() -> None:
    whole = [BUSY, message(), text("prt_1", ""), delta("prt_1", "Hi"), text("prt_1", "Hi", end=True)]
    whole += [bash("pending"), bash("running"), bash("completed", output="x", metadata={"exit": 0}), done()]
    once = hear(prompted(), *whole, IDLE)
    twice = hear(prompted(), *(each for each in whole for _ in (1, 2) if each.type != "message.part.delta"))
    assert len(completed(once, "tool_result")) == len(completed(hear(twice, IDLE), "tool_result")) == 1
    assert [text_of(item) for item in completed(once)] == [text_of(item) for item in completed(twice)] == ["Hi"]


def test_only_the_new_text_of_an_output_is_streamed() -> None:
    long = "line\n" * 100
    outputs = ["", "one\n", "one\n", f"one\n{long}", f"{long}three\n"]
    running = [bash("running", metadata={"output": output}) for output in outputs]
    session = hear(prompted(), BUSY, message(), *running)
    deltas = [event.data.delta for event in session.events if isinstance(event.data, ItemDelta)]
    assert deltas[1:] == ["one\n", long, "three\n"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_growth_of_an_output_is_its_end(before: str, after: str) -> None:
    assert tools.growth(before, before + after) == after
    assert after.endswith(tools.growth(before, after)) or before in after


# -- what was missed ----------------------------------------------------------------------------------------------


def snapshot(*messages: dict[str, object], busy: bool = False, permissions: tuple[str, ...] = ()) -> Snapshot:
    return Snapshot(
        messages=msgspec.json.decode(msgspec.json.encode(messages), type=list[wire.Delivered]),
        permissions=[wire.PermissionAsked(id=id, session=MAIN, permission="bash") for id in permissions],
        questions=[],
        busy=busy,
    )


def delivered(words: str, *, completed: bool, parts: tuple[dict[str, object], ...] = ()) -> dict[str, object]:
    time = {"created": 1794770000001, **({"completed": 1794770000002} if completed else {})}
    info = {"id": "msg_1", "sessionID": MAIN, "role": "assistant", "time": time}
    ended = {"end": 2} if completed else {}
    own = {"type": "text", "id": "prt_1", "messageID": "msg_1", "sessionID": MAIN, "text": words}
    return {"info": info, "parts": [{**own, "time": {"start": 1, **ended}}, *parts]}


def caught_up(session: Session, found: Snapshot, *, idle: bool = False) -> Session:
    session.decoder.tear()
    for draft in session.decoder.catch_up(found, idle=idle):
        session.draft(draft)
    return session


def test_a_turn_that_ended_while_the_stream_was_lost_is_complete_and_ends_once() -> None:
    session = hear(prompted(), BUSY, message(), text("prt_1", ""), delta("prt_1", "Hel"))
    caught_up(session, snapshot(delivered("Hello there", completed=True)))
    assert [text_of(item) for item in completed(session)] == ["Hello there"]
    assert [end.stop_reason for end in ends(session)] == ["end_turn"]
    hear(session, BUSY, delta("prt_1", "lo"), text("prt_1", "Hello there", end=True), done(), IDLE, IDLE)
    assert len(ends(session)) == 1
    assert violations(session.events) == []


def test_a_text_with_missing_deltas_is_completed_at_its_end() -> None:
    session = hear(prompted(), BUSY, message(), text("prt_1", ""), delta("prt_1", "one "))
    caught_up(session, snapshot(delivered("", completed=False), busy=True))
    hear(session, delta("prt_1", "three"), delta("prt_unknown", "and more"))
    hear(session, text("prt_1", "one two three", end=True), done(), IDLE)
    assert [text_of(item) for item in completed(session)] == ["one two three"]
    assert violations(session.events) == []


def test_asks_that_were_missed_are_asked_and_those_that_are_gone_are_resolved() -> None:
    asked = event("permission.asked", id="per_1", permission="bash", patterns=["x"], metadata={}, always=[])
    session = hear(prompted(), BUSY, message(), asked)
    caught_up(session, snapshot(delivered("", completed=False), busy=True, permissions=("per_2",)))
    types = [event.type for event in session.events if event.type.startswith("permission")]
    assert types == ["permission.requested", "permission.requested", "permission.resolved"]
    caught_up(session, snapshot(delivered("", completed=False), busy=True, permissions=("per_2",)))
    assert list(session.decoder.asks.open) == ["per_2"]


def test_asks_of_a_stopped_turn_are_not_repeated() -> None:
    asked = event("permission.asked", id="per_1", permission="bash", patterns=["x"], metadata={}, always=[])
    session = hear(prompted(), BUSY, message(), asked, done(), IDLE)
    session.prompted()
    hear(session, BUSY, message("msg_2"))
    gone = wire.PermissionAsked(id="per_0", session=MAIN, tool=wire.ToolRef("msg_0", "call_0"))
    found = snapshot(busy=True, permissions=("per_1",))
    caught_up(session, msgspec.structs.replace(found, permissions=[*found.permissions, gone]))
    assert len([event for event in session.events if event.type == "permission.requested"]) == 1
    assert session.decoder.asks.open == {}


def test_a_session_that_is_stuck_is_ended_only_when_in_doubt() -> None:
    state = {"status": "running", "input": {"command": "x"}}
    stuck: dict[str, object] = {"type": "tool", "id": "prt_c", "messageID": "msg_1", "sessionID": MAIN, "state": state}
    session = hear(prompted(), BUSY, message(), bash("running"))
    found = snapshot(delivered("", completed=False, parts=(stuck,)))
    assert ends(caught_up(session, found)) == []
    caught_up(session, found, idle=True)
    assert len(ends(session)) == 1
    assert [item.status for item in completed(session, "tool_result")] == ["failed"]
    assert violations(session.events) == []


# -- who is asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "permission", "asked"),
    [
        ("default", "edit", True),
        ("acceptEdits", "edit", False),
        ("acceptEdits", "bash", True),
        ("acceptEdits", "external_directory", True),
        ("plan", "bash", True),
        ("bypass", "bash", False),
        ("bypass", "external_directory", False),
    ],
)
def test_the_mode_decides_which_permissions_are_asked_for(mode: str, permission: str, asked: bool) -> None:
    session = prompted()
    session.decoder.asks.mode = native(mode, "build")
    ask = event("permission.asked", id="per_1", permission=permission, patterns=["x"], metadata={}, always=[])
    hear(session, BUSY, message(), ask)
    assert (session.decoder.effects == []) == asked
    assert (AllowPermission("per_1") in session.decoder.effects) != asked


# -- whose it is --------------------------------------------------------------------------------------------------


def test_a_sub_agents_events_wait_for_the_call_that_made_it() -> None:
    router: SessionRouter[str] = SessionRouter()
    router.own(MAIN, "owner")
    created = event("session.created", "ses_child", info={"id": "ses_child", "parentID": MAIN})
    inside = message("msg_c", session="ses_child")
    made = bash("running", metadata={"sessionId": "ses_child"})
    assert list(router.route(created)) == list(router.route(inside)) == []
    assert [each for _, each in router.route(made)] == [made, created, inside]
    assert [each for _, each in router.route(inside)] == [inside]
    router.leave("owner")
    assert list(router.route(inside)) == []


def test_an_event_of_an_unknown_session_is_dropped() -> None:
    router: SessionRouter[str] = SessionRouter()
    assert list(router.route(message())) == []


# -- foreign input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[1]",
        b"\xff\xfe",
        b'{"type":"no.such.event","properties":{}}',
        b'{"type":"message.updated","properties":{"sessionID":"ses_main","info":{"id":7}}}',
        b'{"type":"permission.asked","properties":{}}',
        b"[" * 100_000,
    ],
)
def test_an_unknown_event_is_kept_as_unparsed(body: bytes) -> None:
    decoder = OpencodeDecoder()
    decoder.session = MAIN
    decoded = decoder.decode(native_event.read(body))
    assert decoded.frame.body == body
    assert [type(draft) for draft in decoded.drafts] == [Unparsed]


def test_a_part_of_an_unknown_type_is_an_item_with_its_json() -> None:
    decoder = OpencodeDecoder()
    decoder.session = MAIN
    part: dict[str, object] = {"type": "hologram", "id": "p", "messageID": "m", "sessionID": MAIN, "depth": 3}
    body = msgspec.json.encode({"type": "message.part.updated", "properties": {"part": part}})
    (draft,) = decoder.decode(native_event.read(body)).drafts
    assert isinstance(draft, ItemCompleted)
    assert (draft.item.kind, draft.item.name, draft.item.native_item_id) == ("unknown", "hologram", "p")
    assert draft.item.content == [JsonPart(json=part)]


def test_an_event_that_was_too_long_is_unparsed() -> None:
    assert "was cut" in (native_event.read(b"{", 10**9).problem or "")


@pytest.mark.parametrize(
    ("line", "body"),
    [(b"data: {}", b"{}"), (b"data:{}", b"{}"), (b": comment", None), (b"", None), (b"event: x", None)],
)
def test_only_data_lines_hold_events(line: bytes, body: bytes | None) -> None:
    assert native_event.event(Line(line)) == body


@given(st.data())
def test_no_mutilated_event_breaks_the_decoder(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(events_of(data.draw(st.sampled_from(cases()))) or [b"{}"]))
    at = data.draw(st.integers(0, len(body)))
    mutilated = body[:at] + data.draw(st.binary(max_size=4)) + body[at + data.draw(st.integers(0, 4)) :]
    session = prompted()
    read = native_event.read(mutilated)
    session.decoder.session = read.session or MAIN
    session.received(read)
    session.cut()
    assert violations(session.events) == []
