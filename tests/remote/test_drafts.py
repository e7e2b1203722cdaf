"""Tests of the wire form of drafts: nothing changes on the way, and a runner can send only what an agent may."""

from collections.abc import Collection, Sequence

import msgspec
import pytest

from everyagent.agents.adapter import DecodedFrame, Draft, Frame, Synthetic
from everyagent.model.asks import Answer
from everyagent.model.events import (
    EVENT_TYPES,
    TYPE_NUMBERS,
    Event,
    ItemCompleted,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    SessionEnded,
    SessionUpdated,
    ToolRequested,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.remote import drafts
from everyagent.remote.drafts import ALLOWED, NotAllowed, WireFrame
from everyagent.remote.item_ids import DerivedIds
from everyagent.runner.scoped_keys import ScopedKeys
from everyagent.runtime.framing import Line
from everyagent.sessions.machine.sequencer import Sequencer
from tests.agents.acp import recorded_agents
from tests.agents.sequenced_session import SequencedSession, violations
from tests.torture.decoders import ALWAYS_IN_TURN, DECODERS, transcripts


def sent(frames: Sequence[DecodedFrame]) -> list[DecodedFrame]:
    """The frames as they arrive on the other side."""
    wire = msgspec.msgpack.encode(drafts.encoded(frames))
    return drafts.decoded(msgspec.msgpack.decode(wire, type=list[WireFrame]))


class RemoteSession(SequencedSession):
    """A session whose drafts pass a runner and the wire."""

    def __init__(self, native: str | None = None, *, echo: bool = False) -> None:
        super().__init__(native, echo=echo)
        self.order = Sequencer(self._id, derived=True)
        self._keys, self._ids = ScopedKeys("s", 7), DerivedIds("s", 7)

    def prompted(self) -> None:
        if not self.order.turn_id:
            self._keys.begin_turn()
        super().prompted()

    def draft(self, draft: Draft) -> None:
        frame = DecodedFrame(Frame("from_agent", b"{}"), [draft])
        (arrived,) = self._ids.applied_to(sent(self._keys.applied_to([frame])))
        super().draft(arrived.drafts[0])
        if (key := _ask_key(draft)) and (ask_id := _ask_key(arrived.drafts[0])) in self._asked:
            self._asked[key] = self._asked[ask_id]

    def answered(self, key: str, answer: Answer) -> None:
        if self.pending(key):
            assert self._keys.native_ask(self._asked[key]) == key
        super().answered(key, answer)

    def restart(self) -> None:
        """The daemon is killed: only what is in the log is known."""
        self.order = Sequencer(self._id, derived=True)
        begun = [number for number, event in enumerate(self.events) if isinstance(event.data, TurnStarted)]
        ended = [number for number, event in enumerate(self.events) if event.type == "turn.ended"]
        if begun and (not ended or ended[-1] < begun[-1]):
            for event in self.events[begun[-1] :]:
                self.order.observe(event.data)
            self.order.resume()


def _ask_key(draft: Draft) -> str:
    data = draft.data if isinstance(draft, Synthetic) else draft
    match data:
        case PermissionRequested():
            return data.permission_id
        case QuestionRequested():
            return data.question_id
        case _:
            return ""


def played(
    session: SequencedSession, agent: str, lines: Sequence[bytes], restarts: Collection[int] = ()
) -> list[Event]:
    decode = DECODERS[agent]()
    session.prompted()
    for number, body in enumerate(lines):
        if agent in ALWAYS_IN_TURN and not session.order.turn_id:
            session.prompted()
        if number in restarts and isinstance(session, RemoteSession):
            session.restart()
        for draft in decode(Line(body)).drafts:
            session.draft(draft)
    session.cut()
    return session.events


def shown(events: Sequence[Event]) -> list[tuple[str, bool]]:
    return [(event.type, event.synthetic) for event in events]


@pytest.mark.parametrize("agent", list(DECODERS))
def test_recorded_frames_do_not_change_on_the_wire(agent: str):
    for lines in transcripts(agent):
        decode = DECODERS[agent]()
        frames = [decode(Line(body)) for body in lines]
        arrived = sent(frames)
        assert [each.frame for each in arrived] == [each.frame for each in frames]
        for one, other in zip(arrived, frames, strict=True):
            assert [draft for draft in other.drafts if not of_user(draft)] == [
                got for got, draft in zip(one.drafts, other.drafts, strict=True) if not of_user(draft)
            ]


@pytest.mark.parametrize("agent", list(DECODERS))
def test_a_recorded_session_has_the_same_events_on_a_runner(agent: str):
    for lines in transcripts(agent):
        local, remote = played(SequencedSession(), agent, lines), played(RemoteSession(), agent, lines)
        assert shown(remote) == shown(local)
        assert violations(remote) == []


@pytest.mark.parametrize("agent", list(DECODERS))
def test_a_recorded_session_goes_on_after_restarts_of_the_daemon(agent: str):
    for lines in transcripts(agent):
        whole = played(RemoteSession(), agent, lines)
        restarted = played(RemoteSession(), agent, lines, restarts=range(0, len(lines), 1 + len(lines) // 8))
        assert violations(restarted) == []
        assert shown(restarted) == shown(whole)


@pytest.mark.parametrize(("agent", "case"), recorded_agents.cases(), ids=lambda each: str(each))
def test_a_recorded_session_of_the_agent_client_protocol_has_the_same_events(
    agent: str, case: str, monkeypatch: pytest.MonkeyPatch
):
    exchanges = recorded_agents.exchanges(agent, case)
    local = recorded_agents.AcpPlayer(agent).play(exchanges)
    monkeypatch.setattr(recorded_agents, "SequencedSession", RemoteSession)
    assert shown(recorded_agents.AcpPlayer(agent).play(exchanges)) == shown(local)


def of_user(draft: Draft) -> bool:
    """A message of a user, which an agent shows and a runner cannot vouch for."""
    return isinstance(draft, ItemStarted | ItemCompleted) and draft.item.role == "user" and not draft.item.subagent


def wire(data: object, kind: int) -> list[WireFrame]:
    return [WireFrame("from_agent", "json", b"{}", [(kind, msgspec.json.encode(data))])]


def item(**fields: object) -> Item:
    given = {"native_item_id": None, "parent_id": None, "kind": "message", "status": "completed", "content": []}
    return msgspec.convert({"item_id": "7.1.a", "role": "user", **given, **fields}, Item)


@pytest.mark.parametrize("kind", [*(TYPE_NUMBERS[each.type] for each in EVENT_TYPES if each not in ALLOWED), 0, 99])
@pytest.mark.parametrize("sign", [1, -1])
def test_other_event_types_are_refused(kind: int, sign: int):
    with pytest.raises(NotAllowed):
        drafts.decoded(wire({}, sign * kind))


def test_sessions_cannot_be_ended_and_tools_not_called_by_a_runner():
    assert not {SessionEnded, ToolRequested} & ALLOWED


@pytest.mark.parametrize("kind", [ItemStarted, ItemCompleted])
def test_a_users_message_is_refused(kind: type[ItemStarted] | type[ItemCompleted]):
    number = TYPE_NUMBERS[kind.type]
    for sign in (1, -1):
        with pytest.raises(NotAllowed, match="user"):
            drafts.decoded(wire(kind(item=item()), sign * number))
    assert drafts.decoded(wire(kind(item=item(subagent="7.1.b")), number))


def test_an_honest_runner_sends_a_users_message_as_the_agents_word():
    (arrived,) = sent([DecodedFrame(Frame("from_agent", b"{}"), [ItemCompleted(item=item())])])
    assert arrived.drafts == [ItemCompleted(item=item(role="system", kind="system"))]


@pytest.mark.parametrize("field", [{"status": "ended"}, {"metadata": {"a": "b"}}, {"tool_policies": {}}])
def test_a_runner_cannot_change_what_belongs_to_the_session(field: dict[str, object]):
    with pytest.raises(NotAllowed):
        drafts.decoded(wire(field, TYPE_NUMBERS[SessionUpdated.type]))


def test_ids_of_another_conversation_are_refused():
    frame = DecodedFrame(Frame("from_agent", b"{}"), [ItemStarted(item=item(item_id="8.1.a", role="assistant"))])
    with pytest.raises(NotAllowed):
        DerivedIds("s", 7).applied_to([frame])


def test_ids_of_two_sessions_differ():
    frame = DecodedFrame(Frame("from_agent", b"{}"), [ItemStarted(item=item(role="assistant"))])
    ids = {str(DerivedIds(session, 7).applied_to([frame])[0].drafts) for session in ("one", "two")}
    assert len(ids) == 2
