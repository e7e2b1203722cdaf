"""Effects come after their commit: an agent is given nothing that is not on disk, and nothing after a failed commit."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everyagent.agents.adapter import Capabilities, Change, DecodedFrame, Frame, Launch, Listener, Prompt
from everyagent.clock import SystemClock
from everyagent.errors import EveryagentError, Unavailable
from everyagent.log.log import Append, SessionRecord
from everyagent.model.asks import Answer, PermissionAnswer, ToolAnswer
from everyagent.model.events import EventData, PermissionRequested, SessionUpdated, ToolRequested, TurnEnded
from everyagent.model.ids import new_id
from everyagent.model.prices import UNPRICED
from everyagent.model.sessions import SendMessage
from everyagent.sessions.actor import Actor
from everyagent.sessions.backlog import TotalBacklog
from everyagent.sessions.counts import Counts
from everyagent.sessions.limits import Limits
from everyagent.sessions.loading import Past
from everyagent.sessions.machine.inputs import answer_batch, cancel_batch, message_batch
from everyagent.sessions.machine.parked import NONE_ANSWERED
from everyagent.sessions.machine.sequencer import Sequencer
from everyagent.sessions.running_agents import RunningAgents
from everyagent.sessions.session_context import SessionContext

RECORD = SessionRecord(
    number=1, session_id="s", agent="test", created_at=0, updated_at=0, config=b'{"directory":"/"}', secrets=None
)


class SlowLog:
    """Commits when the test says so."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Append, asyncio.Future[None]]] = deque()
        self.committed = b""
        self.closed_asks: set[str] = set()

    def append(self, append: Append, *, patient: bool = False) -> asyncio.Future[None]:
        del patient
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((append, future))
        return future

    async def session(self, _session_id: str) -> SessionRecord:
        return RECORD

    async def ask(self, _session: int, _ask_id: str) -> None:
        return None

    def commit(self) -> None:
        if self.waiting:
            append, future = self.waiting.popleft()
            self.committed += b"".join(event.body for event in append.events)
            self.closed_asks |= {ask.ask_id for ask in append.closed_asks}
            future.set_result(None)

    def fail(self) -> None:
        if self.waiting:
            self.waiting.popleft()[1].set_exception(Unavailable("The disk is broken."))


class Agent:
    """An adapter and its conversation in one. Every call is checked against the log."""

    name = title = "test"
    capabilities = Capabilities(steering=True)

    def __init__(self, log: SlowLog) -> None:
        self.listener: Listener | None = None
        self.prompts = 0
        self.lost = False
        self._log = log

    async def open(self, _launch: Launch, listener: Listener) -> "Agent":
        self.listener = listener
        return self

    async def prompt(self, prompt: Prompt) -> None:
        assert not self.lost
        assert b'"turn.started"' in self._log.committed
        assert prompt.item_id.encode() in self._log.committed
        self.prompts += 1

    async def steer(self, prompt: Prompt) -> None:
        assert not self.lost
        assert prompt.item_id.encode() in self._log.committed

    async def answer(self, _key: str, _answer: Answer) -> None:
        assert not self.lost
        assert self._log.closed_asks

    async def interrupt(self) -> None:
        return

    async def change(self, _change: Change) -> bool:
        return True

    async def close(self, *, force: bool = False) -> None:
        del force


class Stage:
    def __init__(self, tasks: anyio.abc.TaskGroup, **limits: int) -> None:
        self.log = SlowLog()
        self.agent = Agent(self.log)
        self.failures: list[BaseException] = []
        self._tasks = tasks
        self._deferred: list[tuple[Callable[..., Any], tuple[object, ...]]] = []
        bounds = Limits(interrupt_grace=30, **limits)
        self.context = SessionContext(
            self.log,  # pyright: ignore[reportArgumentType]
            SystemClock(),
            bounds,
            TotalBacklog(bounds),
            Counts(),
            self.spawn,
            self._launch_for,
            UNPRICED,
            None,
            self._lost,
            RunningAgents(0).admit,
        )
        self.actor = Actor(RECORD, self.agent, self.context, [], Past(Sequencer(), NONE_ANSWERED))  # pyright: ignore[reportArgumentType]

    def spawn(self, function: Callable[..., Any], *args: object) -> None:
        if asyncio.current_task():
            self._tasks.start_soon(self._guarded, function, args)
        else:
            self._deferred.append((function, args))

    async def _guarded(self, function: Callable[..., Any], args: tuple[object, ...]) -> None:
        try:
            await function(*args)
        except EveryagentError:
            return
        except AssertionError as error:
            self.failures.append(error)

    def _lost(self, _actor: Actor) -> None:
        self.agent.lost = True

    async def _launch_for(self, record: SessionRecord) -> Launch:
        path = Path("/")
        return Launch(session_id=record.session_id, directory=path, scratch=path, permission_mode="", agent_mode="")

    def send(self, delivery: str = "queue") -> None:
        message = SendMessage(message="hello", delivery=delivery)  # pyright: ignore[reportArgumentType]
        self.spawn(self.actor.submit, message_batch(new_id("itm_"), message, None))

    def answer(self) -> None:
        asks = self.actor.machine.state.sequencer.asks
        for ask_id in list(asks._pending)[:1]:
            self.spawn(self.actor.submit, answer_batch(ask_id, PermissionAnswer(reply="once")))

    def receive(self, drafts: Sequence[EventData]) -> None:
        if self.agent.listener:
            self.spawn(self.agent.listener.received, [DecodedFrame(Frame("from_agent", b"{}"), drafts)])

    def start_deferred(self) -> None:
        """Effects of commits that nobody waits for come from a callback, which cannot start tasks."""
        while self._deferred:
            function, args = self._deferred.pop(0)
            self.spawn(function, *args)

    def do(self, step: str) -> None:
        match step:
            case "send":
                self.send()
            case "steer":
                self.send("steer")
            case "cancel":
                self.spawn(self.actor.submit, cancel_batch())
            case "ask":
                self.receive([PermissionRequested(permission_id=new_id("p"), action="bash", status="requested")])
            case "answer":
                self.answer()
            case "end":
                self.receive([TurnEnded(turn_id="", stop_reason="end_turn")])
            case "commit":
                self.log.commit()
            case _:
                self.log.fail()


STEPS = st.sampled_from(["send", "steer", "cancel", "ask", "answer", "end", "commit", "commit", "commit", "commit"])


async def drive(steps: Sequence[str]) -> Stage:
    tasks = anyio.create_task_group()
    stage = Stage(tasks)
    async with tasks:
        for step in (*steps, *["commit"] * 50):
            stage.do(step)
            await asyncio.sleep(0)  # the callbacks of a commit come first
            stage.start_deferred()
            await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert stage.failures == []
    return stage


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_every_effect_is_carried_out_after_its_commit(steps: list[str]) -> None:
    stage = asyncio.run(drive(["send", *steps]))
    assert stage.agent.prompts or "cancel" in steps
    assert not stage.agent.lost


@pytest.mark.parametrize("steps", ["fail", "commit ask fail", "commit ask steer fail", "commit send end fail send"])
def test_no_effect_follows_a_failed_commit(steps: str) -> None:
    stage = asyncio.run(drive(["send", *steps.split()]))
    assert stage.agent.lost
    assert not stage.actor.idle


async def test_a_commit_before_that_of_an_answer_does_not_end_the_wait_for_it() -> None:
    """A tool of the client is answered while a frame of the agent waits for its commit."""
    weather = ToolRequested(tool_id="call", name="weather", input={}, status="requested")
    given = ToolAnswer(output="snow")
    received: list[Answer | None] = []
    async with anyio.create_task_group() as tasks:
        stage = Stage(tasks)

        async def call() -> None:
            received.append(await stage.actor.ask(weather))

        def reply() -> None:
            (ask_id,) = stage.actor.machine.state.sequencer.asks._pending
            stage.spawn(stage.actor.submit, answer_batch(ask_id, given))

        frame: list[EventData] = [SessionUpdated(title="A title")]
        for step in (
            stage.send,
            *[stage.log.commit] * 2,
            partial(tasks.start_soon, call),
            stage.log.commit,
            partial(stage.receive, frame),
            reply,
        ):
            step()
            await anyio.wait_all_tasks_blocked()
        assert len(stage.log.waiting) == 2
        stage.log.commit()
        await anyio.wait_all_tasks_blocked()
        assert received == []
        stage.log.commit()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert received == [given]


@pytest.mark.parametrize("limit", ["max_waiting_bytes", "max_waiting_bytes_in_all"])
@pytest.mark.parametrize("end", ["commit", "fail"])
async def test_an_agent_is_not_read_while_its_output_cannot_be_committed(limit: str, end: str) -> None:
    """Frames without events count as well: a full disk must not fill the memory."""
    taken = 0
    async with anyio.create_task_group() as tasks:
        stage = Stage(tasks, **{limit: 50_000})
        for step in ("send", "commit", "commit"):
            stage.do(step)
            await anyio.wait_all_tasks_blocked()

        async def read() -> None:
            nonlocal taken
            listener = stage.agent.listener
            assert listener
            while taken < 1000:
                await listener.received([DecodedFrame(Frame("from_agent", b"x" * 10_000), [])])
                taken += 1

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        assert 0 < taken < 10
        assert stage.context.backlog.bytes < 100_000
        while taken < 1000:
            stage.do(end)
            await asyncio.sleep(0)
            await anyio.wait_all_tasks_blocked()
        while stage.log.waiting:
            stage.do("commit")
            await asyncio.sleep(0)
        assert stage.context.backlog.bytes == 0
        tasks.cancel_scope.cancel()
