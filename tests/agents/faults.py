"""Fault injection for adapters: a daemon in the test's own process, one part of it made to raise, and a neighbour.

A test breaks one callback with `inject`, provokes it in one session, and calls `FaultyDaemon.contained`: the fault must
be the death of that session's agent and of nothing else. Every adapter's tests use it. `line_faults.py` and
`shared_server_faults.py` have the cases of the agents that work alike; `callbacks.py` finds callbacks without a case.
"""

import inspect
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar
from unittest.mock import patch

import anyio
import httpx2
import msgspec
import pytest

from everyagent.agents.adapter import Conversation, Death, DecodedFrame, Launch, Listener
from everyagent.agents.lazy_adapter import LazyAdapter
from everyagent.config import Settings
from everyagent.daemon import RunningDaemon, run
from everyagent.logs import Logger
from everyagent.model.agents import OwnAgent
from everyagent.model.decoding import decode_event
from everyagent.model.events import Error, ItemStarted, PermissionRequested, TurnEnded, Unparsed
from everyagent.model.ids import new_id
from everyagent.sessions.limits import Limits
from everyagent.testing.rules import Rules

T = TypeVar("T")
LIMIT_SECONDS = 60.0
#: In the environment of each session, so that its processes can be found.
MARK = "EVERYAGENT_TEST_SESSION"


class InjectedFault(TypeError):
    """The exception that a broken callback raises."""

    def __init__(self) -> None:
        super().__init__("a fault injected by a test")


class Fault:
    """Counts how often the callback raised. It raises the first time that `when` accepts its arguments."""

    def __init__(self, when: Callable[..., bool], error: Exception) -> None:
        self.raised = 0
        self._when = when
        self._error = error

    def strike(self, *args: object) -> None:
        if not self.raised and self._when(*args):
            self.raised += 1
            raise self._error


def _always(*_: object) -> bool:
    return True


def inject(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    when: Callable[..., bool] = _always,
    error: Exception | None = None,
) -> Fault:
    """Make `owner.name`, a function or a method, raise `error` once. Later calls work as before."""
    fault = Fault(when, error or InjectedFault())
    original = getattr(owner, name)
    if inspect.iscoroutinefunction(original):

        async def broken_async(*args: object, **named: object) -> object:
            fault.strike(*args)
            return await original(*args, **named)

        monkeypatch.setattr(owner, name, broken_async)
    else:

        def broken(*args: object, **named: object) -> object:
            fault.strike(*args)
            return original(*args, **named)

        monkeypatch.setattr(owner, name, broken)
    return fault


class RecordedListener:
    """Passes everything on to the session's listener, counts deaths, and can be made to raise."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.deaths: list[Death] = []

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        assert not self.deaths, "a conversation spoke after its death"
        await self._listener.received(batch)

    async def died(self, death: Death) -> None:
        self.deaths.append(death)
        await self._listener.died(death)


class FaultySession:
    """One session of the daemon, driven over HTTP."""

    def __init__(
        self, client: httpx2.AsyncClient, session_id: str, mark: str, listeners: list[RecordedListener]
    ) -> None:
        self.id = session_id
        self.mark = mark
        self.listeners = listeners
        self._client = client

    async def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """Send a request and ignore its status: a request that meets the fault may fail."""
        return await self._client.request(method, f"/v1/sessions/{self.id}{path}", json=body)

    async def send(self, text: str, **fields: object) -> None:
        assert (await self.call("POST", "/messages", {"message": text, **fields})).is_success

    async def permit(self, number: int = 1) -> None:
        """Wait for the `number`th permission, and allow it."""
        asked = await self.next(PermissionRequested, number)
        await self.call("POST", f"/permissions/{asked.permission_id}/reply", {"reply": "once"})

    async def bodies(self) -> list[bytes]:
        page = msgspec.json.decode((await self.call("GET", "/events?limit=10000")).content, type=dict[str, msgspec.Raw])
        return [bytes(raw) for raw in msgspec.json.decode(page["events"], type=list[msgspec.Raw])]

    async def all(self, kind: type[T]) -> list[T]:
        events = [decode_event(body).data for body in await self.bodies()]
        return [data for data in events if isinstance(data, kind)]

    async def next(self, kind: type[T], number: int = 1) -> T:
        """Wait for the `number`th event of a kind."""
        with anyio.move_on_after(LIMIT_SECONDS):
            while len(found := await self.all(kind)) < number:
                await anyio.sleep(0.01)
            return found[number - 1]
        raise AssertionError("\n".join(body.decode()[:500] for body in (await self.bodies())[-15:]))

    async def until_text(self, words: str) -> None:
        """Wait until the words are in the session's events."""
        with anyio.fail_after(LIMIT_SECONDS):
            while words.encode() not in b"".join(await self.bodies()):
                await anyio.sleep(0.01)

    async def turn(self, text: str, **fields: object) -> TurnEnded:
        """Send a message, and wait for the end of its turn."""
        before = len(await self.all(TurnEnded))
        await self.send(text, **fields)
        return await self.next(TurnEnded, before + 1)

    def processes(self) -> list[int]:
        """Every process that the session's agent started, itself included."""
        wanted = f"{MARK}={self.mark}".encode()
        found: list[int] = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                continue
        return found

    async def violations(self) -> list[str]:
        rules = Rules()
        for body in await self.bodies():
            rules.feed_body(body)
        return [str(each) for each in rules.finish()]


Provocation: TypeAlias = Callable[[FaultySession], Awaitable[None]]


class FaultCase(NamedTuple):
    """`owner.name` is the callback that raises once `provoke` makes the daemon call it."""

    owner: object
    name: str
    provoke: Provocation

    def __str__(self) -> str:
        return name_of(self.owner, self.name)


def name_of(owner: object, name: str) -> str:
    """`Class.method` or `module.function`."""
    return f"{getattr(owner, '__name__', '').rpartition('.')[2]}.{name}"


def sends(text: str, **fields: object) -> Provocation:
    async def provoke(session: FaultySession) -> None:
        await session.send(text, **fields)

    return provoke


def answers(text: str) -> Provocation:
    """`text` makes the agent ask for a permission, which is given."""

    async def provoke(session: FaultySession) -> None:
        await session.send(text)
        await session.permit()

    return provoke


def calls(text: str, method: str, path: str, body: object = None) -> Provocation:
    """`text` makes the agent ask for a permission. While it waits, the request is sent; `{item}` is its last item."""

    async def provoke(session: FaultySession) -> None:
        await session.send(text)
        await session.next(PermissionRequested)
        items = [started.item.item_id for started in await session.all(ItemStarted)]
        await session.call(method, path.format(item=items[-1]), body)

    return provoke


def command_cases(conversation: type, ask: str) -> list[FaultCase]:
    """The commands of every conversation. `ask` is a message that makes the agent ask for a permission."""
    steered = {"message": "more", "delivery": "steer"}
    return [
        FaultCase(conversation, "begin", sends("hello")),
        FaultCase(conversation, "prompt", sends("hello")),
        FaultCase(conversation, "answer", answers(ask)),
        FaultCase(conversation, "steer", calls(ask, "POST", "/messages", steered)),
        FaultCase(conversation, "change", calls(ask, "PATCH", "", {"permissionMode": "acceptEdits"})),
        FaultCase(conversation, "interrupt_subagent", calls(ask, "POST", "/subagents/{item}/cancel")),
    ]


class FaultyDaemon:
    """A whole daemon in this process. `traces` are the faults that were logged with their trace."""

    def __init__(self, client: httpx2.AsyncClient, folder: Path, traces: list[BaseException]) -> None:
        self.client = client
        self.traces = traces
        self._folder = folder
        self.listeners: dict[str, list[RecordedListener]] = {}

    async def session(
        self, agent: str, env: Mapping[str, str] | None = None, *, beside: FaultySession | None = None, **fields: object
    ) -> FaultySession:
        """`beside`: on the same server as that session, if the agent has servers."""
        mark = beside.mark if beside else new_id("mark_")
        directory = self._folder / new_id("directory_")
        directory.mkdir(parents=True)
        body = {"agent": agent, "directory": str(directory), "env": {**(env or {}), MARK: mark}, **fields}
        answer = await self.client.post("/v1/sessions", json=body)
        assert answer.is_success, answer.text
        session_id = msgspec.json.decode(answer.content)["sessionId"]
        return FaultySession(self.client, session_id, mark, self.listeners.setdefault(session_id, []))

    async def neighbour(self) -> FaultySession:
        """A session of the mock agent in the middle of a turn: it waits for a permission."""
        session = await self.session("mock")
        await session.send("[ask]")
        await session.next(PermissionRequested)
        return session

    async def undisturbed(self, neighbour: FaultySession) -> None:
        """Check that the neighbour's turn completes and that the daemon answers."""
        await neighbour.permit()
        assert (await neighbour.next(TurnEnded)).stop_reason == "end_turn"
        assert [error.message for error in await neighbour.all(Error)] == []
        assert await neighbour.violations() == []
        assert (await self.client.get("/v1/health")).status_code == 200

    async def contained(
        self,
        broken: FaultySession,
        neighbour: FaultySession,
        fault: Fault,
        *,
        again: str = "hello",
        alone: bool = True,
    ) -> None:
        """The fault was the death of the broken session's agent, with code `internal`, and of nothing else.

        `again` is a message that works. `alone`: the agent's process is this session's own, so it is gone.
        """
        ended = await broken.next(TurnEnded)
        assert fault.raised == 1
        assert [error.code for error in await broken.all(Error)] == ["internal"]
        assert ended.stop_reason == "error"
        violations = await broken.violations()
        assert violations == [], violations
        await until(lambda: self.injected() > 0)  # it is logged after the turn has ended
        assert self.injected() == 1
        assert all(len(listener.deaths) <= 1 for listener in broken.listeners)
        if alone:
            await until(lambda: not broken.processes())
        assert (await broken.turn(again)).stop_reason == "end_turn"
        await self.undisturbed(neighbour)

    async def unparsed(self, broken: FaultySession, neighbour: FaultySession, fault: Fault) -> None:
        """The fault cost one frame, which is kept as `agent.unparsed`; the turn went on."""
        ended = await broken.next(TurnEnded)
        assert fault.raised == 1
        assert ended.stop_reason == "end_turn"
        assert len(await broken.all(Unparsed)) == 1
        violations = await broken.violations()
        assert violations == [], violations
        await until(lambda: self.injected() > 0)  # it is logged after the turn has ended
        assert self.injected() == 1
        await self.undisturbed(neighbour)

    async def cancelled(self, broken: FaultySession, neighbour: FaultySession, fault: Fault, ask: str) -> None:
        """Cancel a turn while the agent waits for a permission. The fault in that ends the agent."""
        await calls(ask, "POST", "/cancel")(broken)
        assert (await broken.next(TurnEnded)).stop_reason == "interrupted"
        await until(lambda: self.injected() > 0)
        assert fault.raised == self.injected() == 1
        await until(lambda: not broken.processes())
        assert await broken.all(Error) == []
        assert (await broken.turn("hello")).stop_reason == "end_turn"
        await self.undisturbed(neighbour)

    async def closed(self, broken: FaultySession, neighbour: FaultySession, fault: Fault) -> None:
        """Terminate the session, which raises the fault: its processes are gone all the same."""
        with anyio.fail_after(LIMIT_SECONDS):
            assert (await broken.call("POST", "/terminate")).is_success
            await until(lambda: not broken.processes())
        await until(lambda: self.injected() == 1)
        assert fault.raised == 1
        assert await broken.violations() == []
        assert all(len(listener.deaths) <= 1 for listener in broken.listeners)
        await self.undisturbed(neighbour)

    def injected(self) -> int:
        """How often the injected fault was logged with its trace."""
        return sum(isinstance(trace, InjectedFault) for trace in self.traces)


async def until(met: Callable[[], bool]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not met():
            await anyio.sleep(0.01)


@asynccontextmanager
async def faulty_daemon(folder: Path, own: Mapping[str, OwnAgent] | None = None) -> AsyncGenerator[FaultyDaemon]:
    """Every adapter of the registry, and those of the user's `own` agents, with listeners that are recorded."""
    settings = Settings(
        data_dir=folder / "data",
        default_agent="mock",
        port=0,
        token="a-token-for-tests",
        agents=dict(own or {}),
        isolation="none",  # fake agents of the tests are not there behind a wall
    )
    limits = Limits(retry_delay=0.01, sweep_every=0.05, interrupt_grace=5)
    traces: list[BaseException] = []
    open_conversation = LazyAdapter.open

    def recorded(_: Logger, event: str, **facts: object) -> None:
        if error := sys.exc_info()[1]:
            traces.append(error)

    async def opened(self: LazyAdapter, launch: Launch, listener: Listener) -> Conversation:
        recorder = RecordedListener(listener)
        daemon.listeners.setdefault(launch.session_id, []).append(recorder)
        return await open_conversation(self, launch, recorder)

    async with anyio.create_task_group() as tasks:
        with patch.object(Logger, "exception", recorded), patch.object(LazyAdapter, "open", opened):
            running: list[RunningDaemon] = []
            ready = anyio.Event()

            def serving(daemon: RunningDaemon) -> None:
                running.append(daemon)
                ready.set()

            async def serve() -> None:
                await run(settings, ready=serving, limits=limits)

            tasks.start_soon(serve)
            with anyio.fail_after(LIMIT_SECONDS):
                await ready.wait()
            headers = {"authorization": f"Bearer {running[0].token}"}
            async with httpx2.AsyncClient(base_url=running[0].url, headers=headers, timeout=LIMIT_SECONDS) as client:
                daemon = FaultyDaemon(client, folder, traces)
                yield daemon
            tasks.cancel_scope.cancel()
