"""Faults of the adapter's own code end one agent and nothing else; a fault of the decoder costs one event."""

import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import fake_opencode
import pytest
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, faulty_daemon, inject

from everyagent.agents.opencode import program
from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.driver import attachments, encode
from everyagent.agents.opencode.driver.driver import OpencodeConversation
from everyagent.agents.opencode.driver.resync import Resync
from everyagent.agents.opencode.driver.server import STREAM_LOST, OpencodeServer
from everyagent.agents.opencode.protocol.feed import EventFeed
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.events import Error, ItemCompleted, ModelResponded
from everyagent.model.items import text_of


@pytest.fixture
async def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FaultyDaemon]:
    binary = tmp_path / "opencode"
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake_opencode.__file__}" "$@"\n')
    binary.chmod(0o755)
    monkeypatch.setenv(program.BINARY_VARIABLE, str(binary))
    async with faulty_daemon(tmp_path) as running:
        yield running


async def opencode(daemon: FaultyDaemon, tmp_path: Path) -> FaultySession:
    return await daemon.session("opencode", env={"HOME": str(tmp_path)})


async def prompt(session: FaultySession) -> None:
    await session.send("hello")


async def allow(session: FaultySession) -> None:
    await session.send("[ask]")
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
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{getattr(case.owner, '__name__', '')}.{case.name}")
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
