"""Faults in the ACP adapter, which end only the agent of their session."""

import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from own_session import FAKE
from tests.agents.callbacks import callbacks
from tests.agents.faults import (
    FaultCase,
    FaultyDaemon,
    FaultySession,
    command_cases,
    faulty_daemon,
    inject,
    name_of,
    sends,
    until,
)

from everyagent.agents import items
from everyagent.agents.acp import attachments
from everyagent.agents.acp.adapter import AcpAdapter
from everyagent.agents.acp.answer_writer import AnswerWriter
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.acp.driver import AcpConversation
from everyagent.agents.acp.terminals import Terminal, Terminals
from everyagent.errors import AgentFailed
from everyagent.model.agents import OwnAgent
from everyagent.model.events import Error, TurnEnded
from everyagent.runtime.process import Process

AGENT, ASK = "fake", "ask ls"
#: The daemon refuses these requests by itself: the protocol has nothing for them.
UNUSED = {"AcpConversation.steer", "AcpConversation.interrupt_subagent"}
_NOTE = {"data": "aGk=", "mime": "text/plain", "filename": "note.txt"}
CASES = [
    *(case for case in command_cases(AcpConversation, ASK) if str(case) not in UNUSED),
    FaultCase(AcpDecoder, "decode", sends("hello")),
    FaultCase(Process, "start", sends("hello")),
    FaultCase(attachments, "blocks", sends("hello", attachments=[_NOTE])),
    FaultCase(AcpConversation, "_carry_out_effects", sends("hello")),
    FaultCase(AnswerWriter, "_write", sends("odd")),
    FaultCase(AcpConversation, "_remember_creation", sends("hello")),
    FaultCase(AcpConversation, "_serve", sends("read /etc/hostname")),
    FaultCase(Terminal, "run", sends("terminal echo out")),
]
CLOSING = [(AcpConversation, "close"), (AcpConversation, "_ended"), (Terminals, "close")]


@pytest.fixture
async def faulty(tmp_path: Path) -> AsyncGenerator[FaultyDaemon]:
    async with faulty_daemon(tmp_path, {AGENT: OwnAgent(command=[sys.executable, str(FAKE)])}) as daemon:
        yield daemon


async def session(faulty: FaultyDaemon, folder: Path) -> FaultySession:
    return await faulty.session(AGENT, {"FAKE_ACP_SESSIONS": str(folder / "sessions.json")})


def test_every_callback_has_a_case() -> None:
    others = [
        *CLOSING,
        (AcpConversation, "interrupt"),
        (AcpConversation, "_unread"),
        (AcpConversation, "_too_young"),
        (AcpAdapter, "_ask"),
    ]
    assert callbacks("acp") - UNUSED <= {*map(str, CASES), *(name_of(*each) for each in others)}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    fault = inject(monkeypatch, case.owner, case.name)
    await case.provoke(broken)
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(
    faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    fault = inject(monkeypatch, AcpConversation, "interrupt")
    await faulty.cancelled(broken, neighbour, fault, ASK)


@pytest.mark.parametrize("case", CLOSING, ids=lambda case: name_of(*case))
async def test_a_fault_in_closing_leaves_no_process(
    case: tuple[type, str], faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    fault = inject(monkeypatch, *case)
    assert (await broken.turn("terminal sleep 600 & echo made")).stop_reason == "end_turn"
    await faulty.closed(broken, neighbour, fault)


async def test_a_fault_while_an_agent_that_does_not_read_is_ended_ends_it(
    faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(writer: AnswerWriter, frame: bytes) -> None:
        writer._fail(AgentFailed(f"It did not read {len(frame)} bytes."))

    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    fault = inject(monkeypatch, AcpConversation, "_unread")
    monkeypatch.setattr(AnswerWriter, "add", refuse)
    await broken.send("odd")
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_while_a_session_is_loaded_ends_only_its_agent(
    faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    await broken.turn("hello")
    for pid in broken.processes():
        os.kill(pid, signal.SIGKILL)
    await broken.next(Error)
    fault = inject(monkeypatch, AcpConversation, "_too_young")
    await broken.send("hello")
    assert (await broken.next(TurnEnded, 2)).stop_reason == "error"
    assert [error.code for error in await broken.all(Error)] == ["agent_crashed", "internal"]
    await until(lambda: faulty.injected() > 0)
    assert fault.raised == faulty.injected() == 1
    await until(lambda: not broken.processes())
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await faulty.undisturbed(neighbour)


async def test_a_fault_while_models_are_listed_is_an_empty_list(
    faulty: FaultyDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await faulty.neighbour()
    fault = inject(monkeypatch, AcpAdapter, "_ask")
    assert (await faulty.client.get(f"/v1/agents/{AGENT}/models")).json()["models"] == []
    await until(lambda: faulty.injected() > 0)
    assert fault.raised == faulty.injected() == 1
    await faulty.undisturbed(neighbour)


async def test_a_fault_in_the_decoder_loses_one_frame(
    faulty: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await session(faulty, tmp_path)
    fault = inject(monkeypatch, items, "message")
    await broken.send("hello")
    await faulty.unparsed(broken, neighbour, fault)
