"""The session machine alone: any inputs in any order keep the order rules, and memory agrees with the log."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everyagent.agents.adapter import Capabilities, Change, Death, DecodedFrame, Frame, NativeSession
from everyagent.errors import AgentFailed, EveryagentError
from everyagent.log.log import Append, SessionRecord
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import (
    EventData,
    ItemCompleted,
    PermissionRequested,
    QuestionRequested,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    ToolRequested,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.ids import new_id
from everyagent.model.sessions import SendMessage
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.asks import ask_id_of
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.effects import FinishTurn, InterruptAgent, PromptAgent, SteerAgent
from everyagent.sessions.machine.inputs import (
    AgentDied,
    AgentReady,
    Batch,
    ClientNeeded,
    CommandFailed,
    FramesReceived,
    Hibernate,
    NextTurn,
    NoMoreTurns,
    PromptFailed,
    Recover,
    RestartNeeded,
    SessionInput,
    ShutDown,
    Terminate,
    answer_batch,
    cancel_batch,
    message_batch,
)
from everyagent.sessions.machine.machine import Machine
from everyagent.sessions.machine.messages import InputMessage, Submission
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.transaction import LogPosition, Transaction
from everyagent.testing.rules import Rules

from .test_sequencer import DRAFTS, message

ABLE = Capabilities(steering=True, subagent_interrupt=True)
#: Makes an input for the session as it is.
Choice: TypeAlias = Callable[["Session"], SessionInput | None]


class Session:
    """A machine, and a log that holds it to what it commits."""

    def __init__(self) -> None:
        record = SessionRecord(
            number=1,
            session_id="s",
            agent="test",
            created_at=0,
            updated_at=0,
            config=b'{"directory":"/"}',
            secrets=None,
        )
        self.bodies: list[bytes] = []
        self.queue: list[str] = []
        self.asks: set[str] = set()
        self._frame = 0
        self._now = 0
        position = LogPosition(record)
        started = Transaction(position, 0)
        started.begin_frame("from_client", b"{}")
        started.emit([Emission(SessionStarted(), True)])
        state = SessionState(record)
        state.position = position
        self._write(started.finish())
        self.machine = Machine(state, title="Test", capabilities=ABLE, limits=Limits())

    @property
    def state(self) -> SessionState:
        return self.machine.state

    def take(self, input: SessionInput, *, refused_by_log: bool = False) -> Decision | None:
        """None if the input was refused: then nothing may have changed."""
        self._now += 1
        head = self.state.position.head
        if not isinstance(input, Batch):
            decision = self.machine.decide(input, self._now)
        else:
            before = self.machine.snapshot()
            try:
                decision = self.machine.decide(input, self._now)
            except EveryagentError:
                assert self.state.position.head == head
                return None
            if refused_by_log and not decision.patient:
                self.machine.restore(before)
                assert self.state.position.head == head
                return None
        if decision.append:
            self._write(decision.append)
        self._check(decision)
        return decision

    def restart(self) -> None:
        """The daemon is killed and started again: the machine has what the log has."""
        record = self.state.record
        sequencer = Sequencer()
        for body in self.bodies:
            data = decode_event(body).data
            assert not isinstance(data, UnknownData)
            sequencer.observe(data)
        state = SessionState(record, self.state.queue, answered=self.state.answered, sequencer=sequencer)
        state.position = self.state.position
        self.machine = Machine(state, title="Test", capabilities=ABLE, limits=Limits())
        if record.open_turn or record.live:
            self.take(Recover())

    def _write(self, append: Append) -> None:
        assert append.expected == len(self.bodies)
        for event in append.events:
            self.bodies.append(event.body)
            assert event.sequence == len(self.bodies)
        for frame in append.frames:
            assert frame.number == self._frame + 1
            self._frame = frame.number
        self.queue += [waiting.item_id for waiting in append.inputs]
        for item_id in append.taken_inputs:
            self.queue.remove(item_id)
        self.asks |= {ask.ask_id for ask in append.asks}
        self.asks -= {ask.ask_id for ask in append.closed_asks}

    def _check(self, decision: Decision) -> None:
        state = self.state
        assert [waiting.item_id for waiting in state.queue] == self.queue
        assert self.asks == {ask_id for ask_id in self.asks if state.sequencer.asks.pending(ask_id)}
        assert len(state.sequencer.asks) == len(self.asks)
        assert (state.turn.turn_id if state.turn else None) == state.sequencer.turn_id
        assert bool(state.record.open_turn) == (state.turn is not None)
        assert state.record.status == state.status
        assert (state.status in ("running", "waiting")) == state.busy or state.ended
        for effect in decision.effects:
            if isinstance(effect, PromptAgent | InterruptAgent):
                assert effect.turn is state.turn
            if isinstance(effect, SteerAgent):
                assert state.turn
        if state.turn and state.turn.prompt and not state.turn.prompted:
            assert not any(isinstance(effect, InterruptAgent) for effect in decision.effects)


def send(text: str, delivery: str = "queue") -> Choice:
    sent = SendMessage(message=text, delivery=delivery)  # pyright: ignore[reportArgumentType]
    return lambda _: message_batch(new_id("itm_"), sent, None)


def redirect(_: Session) -> SessionInput:
    entries = [InputMessage(item_id=new_id("itm_"), message=SendMessage(message=text)) for text in ("one", "two")]
    return Batch(frame=b"{}", interrupt="It was interrupted.", submission=Submission(entries=entries))


def answer(yes: bool) -> Choice:
    def chosen(session: Session) -> SessionInput | None:
        ask_id = min(session.asks, default=None)
        pending = session.state.sequencer.asks.pending(ask_id) if ask_id else None
        given: Answer
        match pending.request if pending else None:
            case PermissionRequested():
                given = PermissionAnswer(reply="once" if yes else "reject")
            case QuestionRequested():
                given = QuestionAnswer(answers=[["yes"]] if yes else None)
            case ToolRequested():
                given = ToolAnswer(output="done")
            case None:
                return answer_batch("perm_unknown", PermissionAnswer(reply="once"))
        return answer_batch(ask_id_of(pending.request) if pending else "", given)

    return chosen


def for_turn(made: Callable[[ActiveTurn], SessionInput]) -> Choice:
    return lambda session: made(session.state.turn) if session.state.turn else None


def received(frames: list[list[EventData]]) -> SessionInput:
    return FramesReceived([DecodedFrame(Frame("from_agent", b"{}"), drafts) for drafts in frames])


def when_live(input: SessionInput) -> Choice:
    """An agent that does not run sends nothing and does not die."""
    return lambda session: input if session.state.live else None


def always(input: SessionInput) -> Choice:
    return lambda _: input


def RESTART(_: Session) -> SessionInput | None:
    """Stands for a restart of the daemon, which is no input."""
    raise NotImplementedError


UPDATED = Batch(frame=b"{}", updated=SessionUpdated(title="new"), change=Change(model="other"), restart=True)
CHOICES: st.SearchStrategy[Choice] = st.one_of(
    st.sampled_from(["hello", "again"]).map(send),
    st.just(send("to the left", "steer")),
    st.lists(st.lists(DRAFTS, max_size=4), min_size=1, max_size=4).map(lambda frames: when_live(received(frames))),
    st.booleans().map(answer),
    st.just(for_turn(AgentReady)),
    st.just(for_turn(lambda turn: PromptFailed(turn, AgentFailed("no")))),
    st.builds(Death, expected=st.booleans(), history_lost=st.booleans()).map(AgentDied).map(when_live),
    st.sampled_from(
        [
            cancel_batch(),
            UPDATED,
            NextTurn(),
            Hibernate(),
            Hibernate(restart=True),
            RestartNeeded(),
            CommandFailed(AgentFailed("no")),
            ClientNeeded(ToolRequested(tool_id="call_1", name="tool", input={}, status="requested")),
        ]
    ).map(always),
    st.just(redirect),
    st.just(RESTART),
)
ENDS = st.sampled_from([[NoMoreTurns(), Terminate()], [NoMoreTurns(), ShutDown()], [Terminate()]])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(CHOICES, st.booleans()), max_size=40), ENDS)
def test_any_inputs_keep_the_rules_and_memory_agrees_with_the_log(
    choices: list[tuple[Choice, bool]], end: list[SessionInput]
) -> None:
    session = Session()
    for choice, refused_by_log in choices:
        if choice is RESTART:
            session.restart()
            continue
        chosen = choice(session)
        if chosen is not None:
            session.take(chosen, refused_by_log=refused_by_log)
    for chosen in end:
        session.take(chosen)
    assert session.state.turn is None
    rules = Rules()
    for body in session.bodies:
        rules.feed_body(body)
    assert [str(violation) for violation in rules.finish()] == []


def started_session() -> Session:
    session = Session()
    session.take(message_batch("itm_1", SendMessage(message="hello"), None))
    assert session.state.turn
    session.take(AgentReady(session.state.turn))
    return session


def test_a_message_that_begins_a_turn_is_one_transaction() -> None:
    session = Session()
    decision = session.take(message_batch("itm_1", SendMessage(message="hello"), None))
    assert decision
    assert decision.append
    assert [effect for effect in decision.effects if isinstance(effect, PromptAgent)]
    assert b'"turn.started"' in decision.append.events[0].body
    assert not decision.append.inputs


def test_a_message_that_waits_is_recorded_when_its_turn_begins() -> None:
    session = started_session()
    waiting = session.take(message_batch("itm_2", SendMessage(message="later"), None))
    assert waiting
    assert waiting.append
    assert (waiting.append.events, waiting.append.frames) == ([], [])
    assert [each.item_id for each in waiting.append.inputs] == ["itm_2"]
    session.take(received([[TurnEnded(turn_id="", stop_reason="end_turn")]]))
    begun = session.take(NextTurn())
    assert begun
    assert begun.append
    assert begun.append.taken_inputs == ["itm_2"]
    assert len(begun.append.frames) == 1


@pytest.mark.parametrize("frames", [1, 2], ids=["in one frame", "in two frames"])
def test_the_end_of_a_turn_is_noticed_though_the_next_begins_in_the_same_read(frames: int) -> None:
    session = started_session()
    first = session.state.turn
    drafts: list[EventData] = [
        TurnEnded(turn_id="", stop_reason="end_turn"),
        TurnStarted(turn_id="", input_item_ids=[]),
        ItemCompleted(item=message("m", "hello")),
    ]
    decision = session.take(received([drafts] if frames == 1 else [drafts[:1], drafts[1:]]))
    assert decision
    assert [effect.turn for effect in decision.effects if isinstance(effect, FinishTurn)] == [first]
    assert session.state.turn
    assert session.state.turn is not first
    assert session.state.turn.prompt is None


def test_a_death_after_the_end_of_the_turn_does_not_end_the_next_turn_twice() -> None:
    session = started_session()
    session.take(received([[TurnEnded(turn_id="", stop_reason="end_turn")]]))
    decision = session.take(AgentDied(Death(expected=True)))
    assert decision
    assert not [effect for effect in decision.effects if isinstance(effect, FinishTurn)]
    assert session.state.status == "hibernated"


def test_nothing_follows_the_end_of_a_session_in_the_same_read() -> None:
    session = started_session()
    ended = SessionEnded(reason="completed", terminated_by="agent")
    session.take(
        received([[ended, ItemCompleted(item=message("m", "late"))], [ItemCompleted(item=message("n", "late"))]])
    )
    assert b'"session.ended"' in session.bodies[-1]
    assert session.state.ended


def test_a_native_session_is_no_answer() -> None:
    session = started_session()
    assert session.state.turn
    session.take(FramesReceived([DecodedFrame(Frame("from_agent", b"{}"), [NativeSession("native")])]))
    assert not session.state.turn.responded
    assert session.state.position.native_session_id == "native"


def test_an_ask_between_turns_does_not_outlive_the_daemon() -> None:
    """No `turn.ended` could name it, so nobody would know that it is open."""
    session = started_session()
    session.take(received([[TurnEnded(turn_id="", stop_reason="end_turn")]]))
    session.take(received([[PermissionRequested(permission_id="p", action="bash", status="requested")]]))
    assert session.asks
    session.take(NoMoreTurns())
    session.take(ShutDown())
    assert not session.asks
