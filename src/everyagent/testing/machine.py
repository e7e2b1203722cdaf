"""A hypothesis state machine that drives one session of an adapter and checks the order rules.

Subclass `SessionMachine` with the adapter's prompts; `TestCase` of the subclass is the test.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import anyio.abc
import anyio.from_thread
import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from everyagent.agents.adapter import Adapter
from everyagent.agents.registry import known_adapters
from everyagent.config import Settings, default_data_dir
from everyagent.daemon import sessions_of
from everyagent.errors import AskClosed, AskNotFound, UnsupportedChoice
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import QuestionRequested
from everyagent.model.sessions import AskInfo, CreateSession, SendMessage, SessionInfo
from everyagent.sessions import EventsRequest, Sessions
from everyagent.sessions.limits import Limits
from everyagent.testing.rules import Rules

#: A session must settle within this time.
LIMIT_SECONDS = 180.0
#: A turn that runs longer is cancelled.
PATIENCE_SECONDS = 3.0


def _installed_adapters(tasks: anyio.abc.TaskGroup) -> Sequence[Adapter]:
    """The adapters of the user's own installation, which the machine's temporary data folder does not have."""
    return known_adapters(tasks, default_data_dir() / "agents")


class SessionMachine(RuleBasedStateMachine):
    """`prompts` are messages that make the agent do something; `slow_prompts` run until they are cancelled.

    `env` is the session's environment.
    """

    agent: ClassVar[str]
    prompts: ClassVar[st.SearchStrategy[str]]
    slow_prompts: ClassVar[st.SearchStrategy[str]]
    env: ClassVar[dict[str, str]] = {}
    adapters: ClassVar[Callable[[anyio.abc.TaskGroup], Sequence[Adapter]]] = staticmethod(_installed_adapters)
    limits: ClassVar[Limits] = Limits(retry_delay=0.01, interrupt_grace=5, sweep_every=0.05)

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="everyagent-"))
        self._workspace = self._folder / "workspace"
        self._workspace.mkdir()
        self._portal_manager = anyio.from_thread.start_blocking_portal()
        self._portal = self._portal_manager.__enter__()
        self._start()
        request = CreateSession(agent=self.agent, directory=str(self._workspace), env=self.env)
        self._id = self._portal.call(self._sessions.create, None, request).session_id

    def _start(self) -> None:
        settings = Settings(data_dir=self._folder / "data", default_agent=self.agent)
        self._manager = self._portal.wrap_async_context_manager(
            sessions_of(settings, limits=self.limits, adapters=type(self).adapters)
        )
        self._sessions: Sessions = self._manager.__enter__()

    def _info(self) -> SessionInfo:
        return self._portal.call(self._sessions.get, self._id)

    def _asks(self) -> list[AskInfo]:
        return self._portal.call(self._pending)

    async def _pending(self) -> list[AskInfo]:
        return await self._sessions.asks(self._id, pending=True)

    @initialize()
    def check_first_event(self) -> None:
        assert self._info().event_count == 1

    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        message = SendMessage(message=data.draw(self.prompts))
        self._portal.call(self._sessions.send, self._id, message)

    @rule(data=st.data())
    def send_something_slow_and_cancel_it(self, data: st.DataObject) -> None:
        message = SendMessage(message=data.draw(self.slow_prompts))
        self._portal.call(self._sessions.send, self._id, message)
        self._portal.call(self._sessions.cancel, self._id)
        self.settle()

    @rule(data=st.data())
    def steer(self, data: st.DataObject) -> None:
        message = SendMessage(message=data.draw(self.prompts), delivery="steer")
        try:
            self._portal.call(self._sessions.send, self._id, message)
        except UnsupportedChoice:
            return

    @rule()
    def cancel(self) -> None:
        self._portal.call(self._sessions.cancel, self._id)

    @rule(kindly=st.booleans(), twice=st.booleans())
    def answer(self, kindly: bool, twice: bool) -> None:
        """Answers every pending ask. It is no precondition that there is one: that depends on the agent's speed."""
        for ask in self._asks():
            try:
                self._portal.call(self._sessions.answer, self._id, ask.ask_id, answer_to(ask, kindly))
                if twice:
                    self._refuses_a_second_answer(ask)
            except (AskClosed, AskNotFound):
                return

    def _refuses_a_second_answer(self, ask: AskInfo) -> None:
        try:
            self._portal.call(self._sessions.answer, self._id, ask.ask_id, answer_to(ask, False))
        except AskClosed as error:
            if not error.facts.get("firstAnswer"):
                raise AssertionError("the refusal does not say what the first answer was") from error
        else:
            raise AssertionError("an ask was answered twice")

    @rule()
    def settle(self) -> None:
        """Waits until the session rests. Answers asks, and cancels a turn that takes too long."""
        deadline = time.monotonic() + LIMIT_SECONDS
        patience = time.monotonic() + PATIENCE_SECONDS
        while (info := self._info()).status in ("running", "waiting") or info.queued_messages:
            assert time.monotonic() < deadline, f"still {info.status} after {LIMIT_SECONDS} s"
            if info.pending_asks:
                self.answer(True, False)
            if time.monotonic() > patience:
                self.cancel()
                patience += PATIENCE_SECONDS
            time.sleep(0.01)

    @rule()
    def restart_the_daemon(self) -> None:
        self._manager.__exit__(None, None, None)
        self._start()
        self._check()

    def _bodies(self) -> list[bytes]:
        bodies: list[bytes] = []
        while True:
            request = EventsRequest(after=len(bodies), limit=500, raw=True)
            page = self._portal.call(self._sessions.events, self._id, request)
            bodies += page.split()
            if not page.more:
                return bodies

    def _check(self, *, at_rest: bool = False) -> None:
        rules = Rules(include_raw=True)
        for body in self._bodies():
            rules.feed_body(body)
        violations = rules.finish() if at_rest else rules.violations
        assert not violations, "\n".join(map(str, violations))

    def teardown(self) -> None:
        try:
            self._portal.call(self._sessions.terminate, self._id)
            assert self._info().ended
            self._check(at_rest=True)
        finally:
            self._manager.__exit__(None, None, None)
            self._portal_manager.__exit__(None, None, None)
            shutil.rmtree(self._folder, ignore_errors=True)


def answer_to(ask: AskInfo, kindly: bool) -> Answer:
    """An answer that agrees, or one that refuses."""
    match ask.kind:
        case "permission":
            return PermissionAnswer(reply="once" if kindly else "reject")
        case "tool":
            return ToolAnswer(output="done", is_error=not kindly)
        case "question":
            asked = msgspec.convert(ask.request, QuestionRequested)
            return QuestionAnswer(answers=[["yes"]] * max(1, len(asked.questions)) if kindly else None)
