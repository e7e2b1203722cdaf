"""Faults in the Amp adapter, which end only the agent of their session."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from amp_stage import environment
from tests.agents.callbacks import callbacks
from tests.agents.faults import FaultCase, FaultyDaemon, answers, faulty_daemon, inject, name_of, sends
from tests.agents.line_faults import ASK, line_cases
from tests.scripted.amp_replies import call, say
from tests.scripted.amp_server import AmpServer

from everyagent.agents.amp import attachments, items, program
from everyagent.agents.amp.adapter import AmpAdapter
from everyagent.agents.amp.asks import AmpAsks
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.agents.amp.driver import AmpConversation
from everyagent.agents.amp.run import AmpProcess
from everyagent.model.events import TurnEnded

#: Amp cannot stop one sub-agent, so the daemon refuses the request by itself.
UNUSED = "AmpConversation.interrupt_subagent"
CASES = [
    *(case for case in line_cases(AmpConversation, AmpDecoder, attachments) if str(case) != UNUSED),
    FaultCase(AmpAdapter, "_start", sends("hello")),
    FaultCase(AmpProcess, "received", sends("hello")),
    FaultCase(AmpProcess, "_after", sends("hello")),
    FaultCase(AmpConversation, "_after", sends("hello")),
    FaultCase(AmpAsks, "decide_call", sends(ASK)),
    FaultCase(AmpConversation, "_find", sends(ASK)),
    FaultCase(AmpConversation, "_note", sends(ASK)),
    FaultCase(AmpAsks, "answer", answers(ASK)),
]
CLOSING = [(AmpConversation, "close"), (AmpConversation, "_over"), (AmpProcess, "_ending")]


@pytest.fixture
async def faulty(
    binary: str, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, binary)
    model.script.add(call("shell_command", {"command": "touch made.txt"}, when=ASK))
    async with faulty_daemon(tmp_path) as daemon:
        yield daemon


def test_every_callback_has_a_case() -> None:
    others = [*CLOSING, (AmpConversation, "interrupt"), (AmpConversation, "_failed")]
    assert callbacks("amp") - {UNUSED} <= {*map(str, CASES), *(name_of(*each) for each in others)}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, case.owner, case.name)
    await case.provoke(broken)
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(
    faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, AmpConversation, "interrupt")
    await faulty.cancelled(broken, neighbour, fault, ASK)


@pytest.mark.parametrize("case", CLOSING, ids=lambda case: name_of(*case))
async def test_a_fault_in_closing_leaves_no_process(
    case: tuple[type, str], faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, *case)
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await faulty.closed(broken, neighbour, fault)


async def test_a_fault_while_a_fault_is_handled_ends_only_one_agent(
    faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    inject(monkeypatch, AmpAsks, "decide_call")
    fault = inject(monkeypatch, AmpConversation, "_failed")
    await broken.send(ASK)
    await broken.next(TurnEnded)
    assert fault.raised == 1
    assert faulty.injected() == 2
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await faulty.undisturbed(neighbour)


async def test_a_fault_in_the_decoder_loses_one_frame(
    faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "read.txt").write_text("words")
    model.script.add(call("Read", {"path": str(tmp_path / "read.txt")}, text="I look.", when="hello"), say("Hello."))
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, items, "message")
    await broken.send("hello")
    await faulty.unparsed(broken, neighbour, fault)
