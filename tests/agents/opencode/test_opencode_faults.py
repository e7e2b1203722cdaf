"""Faults of the adapter's own code end one agent and nothing else; a fault of the decoder costs one event."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import fake_opencode
import pytest
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, faulty_daemon, inject, until

from everyagent.agents.opencode import program
from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.driver import attachments, driver, encode
from everyagent.agents.opencode.driver.driver import OpencodeConversation
from everyagent.agents.opencode.driver.resync import Resync
from everyagent.agents.opencode.driver.server import STREAM_LOST, OpencodeServer
from everyagent.agents.opencode.policy.plugin_hooks import PluginHooks
from everyagent.agents.opencode.policy.policies import SessionPolicies
from everyagent.agents.opencode.protocol.feed import EventFeed
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.events import Error, ItemCompleted, ModelResponded
from everyagent.model.items import text_of
from everyagent.runtime.process import Process


@pytest.fixture
async def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, fake_opencode.installed(tmp_path))
    async with faulty_daemon(tmp_path) as running:
        yield running


async def opencode(daemon: FaultyDaemon, tmp_path: Path, *, policed: bool = False, **env: str) -> FaultySession:
    fields = {"toolPolicies": {"tools": {"bash": "ask"}}} if policed else {}
    return await daemon.session("opencode", env={"HOME": str(tmp_path), **env}, **fields)


async def prompt(session: FaultySession) -> None:
    await session.send("hello")


async def allow(session: FaultySession) -> None:
    await session.send("[ask]")
    await session.permit()


async def stall(session: FaultySession) -> None:
    await session.send("[stall]")


async def hook(session: FaultySession) -> None:
    await session.send("[hook]")


async def allow_hook(session: FaultySession) -> None:
    await session.send("[hook]")
    await session.permit()


CASES = [
    FaultCase(OpencodeServer, "join", prompt),
    FaultCase(OpencodeServer, "listen", prompt),
    FaultCase(OpencodeConversation, "begin", prompt),
    FaultCase(encode, "create", prompt),
    FaultCase(encode, "prompt", prompt),
    FaultCase(attachments, "parts", prompt),
    FaultCase(EventFeed, "_back", prompt),
    FaultCase(OpencodeConversation, "_decode", prompt),
    FaultCase(OpencodeConversation, "_carry_out", prompt),
    FaultCase(SessionRouter, "route", prompt),
    FaultCase(asks, "response", allow),
    FaultCase(OpencodeConversation, "answer", allow),
    FaultCase(Resync, "begin", stall),
    FaultCase(Resync, "_wait", stall),
    FaultCase(Resync, "check", stall),
    FaultCase(driver, "fetch_snapshot", stall),
    FaultCase(SessionRouter, "sessions", stall),
    FaultCase(OpencodeDecoder, "catch_up", stall),
]
POLICY_CASES = [
    FaultCase(PluginHooks, "environment", prompt),
    FaultCase(PluginHooks, "is_loaded", prompt),
    FaultCase(OpencodeConversation, "decide", hook),
    FaultCase(SessionPolicies, "verdict", hook),
    FaultCase(SessionPolicies, "_item_of", hook),
    FaultCase(SessionPolicies, "answer", allow_hook),
]
CLOSING_CASES = [
    *((OpencodeConversation, name) for name in ("close", "_release", "_leave_server")),
    *((OpencodeServer, name) for name in ("leave", "_forget", "stop", "_release")),
    *((SessionRouter, "leave"), (SessionPolicies, "turn_over"), (EventFeed, "close"), (Process, "stop")),
]


def case_name(case: FaultCase | tuple[object, str]) -> str:
    return f"{getattr(case[0], '__name__', '')}.{case[1]}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
async def test_a_fault_ends_one_agent(
    case: FaultCase, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    same_agent = await opencode(daemon, tmp_path)
    assert (await same_agent.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, case.owner, case.name)
    broken = await opencode(daemon, tmp_path)
    await case.provoke(broken)
    await daemon.contained(broken, neighbour, fault)
    assert (await same_agent.turn("hello")).stop_reason == "end_turn"
    assert await same_agent.all(Error) == []


@pytest.mark.parametrize("case", POLICY_CASES, ids=case_name)
async def test_a_fault_in_tool_policies_ends_one_agent(
    case: FaultCase, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    fault = inject(monkeypatch, case.owner, case.name)
    broken = await opencode(daemon, tmp_path, policed=True)
    await case.provoke(broken)
    await daemon.contained(broken, neighbour, fault)


async def test_a_fault_in_finding_the_session_of_a_call_rejects_the_call(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await opencode(daemon, tmp_path, policed=True)
    fault = inject(monkeypatch, OpencodeConversation, "owns")
    assert (await broken.turn("[hook]")).stop_reason == "end_turn"
    await broken.until_text("kept this call from being decided")
    assert fault.raised == daemon.injected() == 1
    assert await broken.violations() == []
    await daemon.undisturbed(neighbour)


@pytest.mark.parametrize("case", CLOSING_CASES, ids=case_name)
async def test_a_fault_in_closing_leaves_no_process(
    case: tuple[object, str], daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await opencode(daemon, tmp_path)
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, *case)
    await daemon.closed(broken, neighbour, fault)


@pytest.mark.parametrize("owner", [OpencodeServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_abandoning_a_conversation_leaves_no_process(
    owner: object, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    refused = await opencode(daemon, tmp_path, REFUSE="1")
    fault = inject(monkeypatch, owner, "stop")
    assert (await refused.turn("hello")).stop_reason == "error"
    assert [error.code for error in await refused.all(Error)] != ["internal"]
    assert fault.raised == daemon.injected() == 1
    await until(lambda: not refused.processes())
    await daemon.undisturbed(neighbour)


def of_type(type: str) -> Callable[..., bool]:
    def matches(_: object, event: object) -> bool:
        return isinstance(event, NativeEvent) and event.type == type

    return matches


async def test_a_fault_in_decoding_costs_one_event(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await opencode(daemon, tmp_path)
    fault = inject(monkeypatch, OpencodeDecoder, "_dispatch", of_type("message.part.delta"))
    await broken.send("hello")
    await daemon.unparsed(broken, neighbour, fault)


async def test_a_fault_in_resync_ends_one_agent(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    fault = inject(monkeypatch, Resync, "after_loss")
    decode = OpencodeConversation._decode

    async def after_a_loss(self: OpencodeConversation, batch: list[NativeEvent]) -> object:
        lost = [STREAM_LOST] if not fault.raised and any(event for event in batch) else []
        return await decode(self, [*batch, *lost])

    monkeypatch.setattr(OpencodeConversation, "_decode", after_a_loss)
    broken = await opencode(daemon, tmp_path)
    await broken.send("hello")
    await daemon.contained(broken, neighbour, fault)


async def test_absurd_usage_is_bounded(daemon: FaultyDaemon, tmp_path: Path) -> None:
    neighbour = await daemon.neighbour()
    session = await opencode(daemon, tmp_path)
    for _ in range(2):
        assert (await session.turn("[huge]")).stop_reason == "end_turn"
    assert all(used.usage.input_tokens < 2**53 for used in await session.all(ModelResponded))
    items = [done.item for done in await session.all(ItemCompleted)]
    assert [text_of(item) for item in items if item.role == "assistant"] == ["Reply 1", "Reply 2"]
    await daemon.undisturbed(neighbour)
