"""Fault cases of agents whose sessions share server processes, Codex and OpenCode, and how they are tested."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import pytest
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, command_cases, inject, sends, until

from everyagent.model.events import Error, ModelResponded, TurnEnded
from everyagent.runtime.process import Process

ASK = "[ask]"
HOOK = "[hook]"


class Start(Protocol):
    """Creates a session of the agent. `policed`: a hook asks about its commands."""

    def __call__(
        self, *, policed: bool = False, beside: FaultySession | None = None, **env: str
    ) -> Awaitable[FaultySession]: ...


def shared_cases(conversation: type, server: type) -> list[FaultCase]:
    names = ("join", "_decode", "_carry_out")
    return [
        *command_cases(conversation, ASK),
        *(FaultCase(conversation, name, sends("hello")) for name in names),
        *(FaultCase(server, name, sends("hello")) for name in ("ready", "join", "_greet")),
    ]


def closing_cases(conversation: type, server: type) -> list[tuple[object, str]]:
    return [
        *((conversation, name) for name in ("close", "_release", "_leave_server")),
        *((server, name) for name in ("leave", "_forget", "stop", "_release")),
        (Process, "stop"),
    ]


class SharedServerFaults(NamedTuple):
    """The tests of one agent, each with a daemon of its own."""

    daemon: FaultyDaemon
    start: Start
    monkeypatch: pytest.MonkeyPatch

    async def ends_one_agent(self, case: FaultCase) -> None:
        """Another session of the agent, on a server of its own, goes on."""
        neighbour, same_agent = await self.daemon.neighbour(), await self.start()
        assert (await same_agent.turn("hello")).stop_reason == "end_turn"
        fault = inject(self.monkeypatch, case.owner, case.name)
        broken = await self.start()
        await case.provoke(broken)
        await self.daemon.contained(broken, neighbour, fault)
        assert (await same_agent.turn("hello")).stop_reason == "end_turn"
        assert await same_agent.all(Error) == []

    async def ends_one_agent_with_policies(self, case: FaultCase) -> None:
        neighbour, same_agent = await self.daemon.neighbour(), await self.start(policed=True)
        await same_agent.send(HOOK)
        await same_agent.permit()
        assert (await same_agent.next(TurnEnded)).stop_reason == "end_turn"
        fault = inject(self.monkeypatch, case.owner, case.name)
        broken = await self.start(policed=True)
        await case.provoke(broken)
        await self.daemon.contained(broken, neighbour, fault)
        await same_agent.send(HOOK)
        await same_agent.permit(2)
        assert (await same_agent.next(TurnEnded, 2)).stop_reason == "end_turn"
        assert await same_agent.all(Error) == []

    async def ends_the_cancelled_turn(self, conversation: type, name: str = "interrupt") -> None:
        neighbour, broken = await self.daemon.neighbour(), await self.start()
        fault = inject(self.monkeypatch, conversation, name)
        await self.daemon.cancelled(broken, neighbour, fault, ASK)

    async def closes(self, case: tuple[object, str]) -> None:
        neighbour, broken = await self.daemon.neighbour(), await self.start(policed=True)
        assert (await broken.turn("hello")).stop_reason == "end_turn"
        fault = inject(self.monkeypatch, *case)
        await self.daemon.closed(broken, neighbour, fault)

    async def leaves_a_shared_server(self, owner: object, name: str) -> None:
        """The session beside it goes on, and ends the server when it leaves as the last one."""
        neighbour, companion = await self.daemon.neighbour(), await self.start()
        broken = await self.start(beside=companion)
        for session in (companion, broken):
            assert (await session.turn("hello")).stop_reason == "end_turn"
        fault = inject(self.monkeypatch, owner, name)
        assert (await broken.call("POST", "/terminate")).is_success
        await until(lambda: self.daemon.injected() == 1)
        await self._leaves_alone(companion, neighbour)
        assert fault.raised == 1

    async def halts(self, conversation: type) -> None:
        """After a fault, stopping what the session runs on the shared server raises, too."""
        neighbour, companion = await self.daemon.neighbour(), await self.start()
        broken = await self.start(beside=companion)
        for session in (companion, broken):
            assert (await session.turn("hello")).stop_reason == "end_turn"
        first = inject(self.monkeypatch, conversation, "_carry_out")
        second = inject(self.monkeypatch, conversation, "_halt")
        assert (await broken.turn("hello")).stop_reason == "error"
        await until(lambda: self.daemon.injected() == 2)
        assert first.raised == second.raised == 1
        assert (await broken.call("POST", "/terminate")).is_success
        await self._leaves_alone(companion, neighbour)

    async def _leaves_alone(self, companion: FaultySession, neighbour: FaultySession) -> None:
        assert (await companion.turn("hello")).stop_reason == "end_turn"
        assert await companion.all(Error) == []
        assert (await companion.call("POST", "/terminate")).is_success
        await until(lambda: not companion.processes())
        await self.daemon.undisturbed(neighbour)

    async def abandons(self, owner: object, *, policed: bool = False, **env: str) -> None:
        """The agent refuses to open the session; ending its server raises."""
        neighbour = await self.daemon.neighbour()
        refused = await self.start(policed=policed, beside=None, **env)
        fault = inject(self.monkeypatch, owner, "stop")
        assert (await refused.turn("hello")).stop_reason == "error"
        assert [error.code for error in await refused.all(Error)] != ["internal"]
        assert fault.raised == self.daemon.injected() == 1
        await until(lambda: not refused.processes())
        await self.daemon.undisturbed(neighbour)

    async def starts_no_server(self, server: type) -> None:
        """The first output of the server cannot be read."""
        neighbour, _ = await self.daemon.neighbour(), await self.start()
        fault = inject(self.monkeypatch, server, "_read")
        broken = await self.start()
        assert (await broken.turn("hello")).stop_reason == "error"
        assert fault.raised == self.daemon.injected() == 1
        await until(lambda: not broken.processes())
        assert (await broken.turn("hello")).stop_reason == "end_turn"
        await self.daemon.undisturbed(neighbour)

    async def lists_no_models(self, owner: object, name: str) -> None:
        """A fault while the program is asked for its models costs the list at most, not the session."""
        fault = inject(self.monkeypatch, owner, name)
        session = await self.start()
        assert fault.raised == self.daemon.injected() == 1
        assert (await session.turn("hello")).stop_reason == "end_turn"
        await self.daemon.undisturbed(await self.daemon.neighbour())

    async def loses_one_frame(self, decoder: type, when: Callable[..., bool]) -> None:
        neighbour, broken = await self.daemon.neighbour(), await self.start()
        fault = inject(self.monkeypatch, decoder, "_dispatch", when)
        await broken.send("hello")
        await self.daemon.unparsed(broken, neighbour, fault)

    async def bounds_absurd_usage(self) -> FaultySession:
        neighbour, session = await self.daemon.neighbour(), await self.start()
        for _ in range(2):
            assert (await session.turn("[huge]")).stop_reason == "end_turn"
        assert all(used.usage.input_tokens < 2**53 for used in await session.all(ModelResponded))
        await self.daemon.undisturbed(neighbour)
        return session
