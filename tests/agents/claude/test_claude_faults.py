"""Faults in the Claude adapter, which end only the agent of their session."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from claude_stage import environment
from tests.agents.callbacks import callbacks
from tests.agents.faults import FaultCase, FaultyDaemon, faulty_daemon, inject, name_of, sends
from tests.agents.line_faults import ASK, line_cases
from tests.scripted.messages_replies import call, say
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import attachments, encode, program
from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.agents.claude.driver import ClaudeConversation
from everyagent.agents.claude.messages import ClaudeMessages

CASES = [
    *line_cases(ClaudeConversation, ClaudeDecoder, attachments),
    FaultCase(ClaudeConversation, "_carry_out_effects", sends("hello")),
    FaultCase(encode, "initialize", sends("hello")),
]
CLOSING = ["close", "_ended"]


@pytest.fixture
async def faulty(
    binary: str, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, binary)
    model.script.add(call("Bash", {"command": "touch made.txt"}, when=ASK))
    async with faulty_daemon(tmp_path) as daemon:
        yield daemon


def test_every_callback_has_a_case() -> None:
    own = [name_of(ClaudeConversation, name) for name in (*CLOSING, "interrupt")]
    assert callbacks("claude") <= {*map(str, CASES), *own}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, case.owner, case.name)
    await case.provoke(broken)
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(
    faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, ClaudeConversation, "interrupt")
    await faulty.cancelled(broken, neighbour, fault, ASK)


@pytest.mark.parametrize("name", CLOSING)
async def test_a_fault_in_closing_leaves_no_process(
    name: str, faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, ClaudeConversation, name)
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await faulty.closed(broken, neighbour, fault)


async def test_a_fault_in_the_decoder_loses_one_frame(
    faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script.add(say("Hello."))
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, ClaudeMessages, "whole")
    await broken.send("hello")
    await faulty.unparsed(broken, neighbour, fault)
