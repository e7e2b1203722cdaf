"""Faults in the Claude adapter, which end only the agent of their session."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from claude_stage import environment
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, faulty_daemon, inject
from tests.scripted.messages_replies import call, say
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import attachments, encode, program
from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.agents.claude.driver import ClaudeConversation
from everyagent.agents.claude.messages import ClaudeMessages
from everyagent.runtime.process import Process

PICTURE = {"data": "aGk=", "mime": "image/png", "filename": "dot.png"}


@pytest.fixture
async def faulty(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, binary)
    async with faulty_daemon(tmp_path) as daemon:
        yield daemon


async def speaks(session: FaultySession) -> None:
    await session.send("Hello")


async def shows(session: FaultySession) -> None:
    await session.send("What is it?", attachments=[PICTURE])


async def answers(session: FaultySession) -> None:
    await session.send("Make it")
    await session.permit()


CASES = {
    "decode": FaultCase(ClaudeDecoder, "decode", speaks),
    "after a batch": FaultCase(ClaudeConversation, "_see_to_asides", speaks),
    "process start": FaultCase(Process, "start", speaks),
    "prompt": FaultCase(encode, "prompt", speaks),
    "attachment": FaultCase(attachments, "content", shows),
    "answer": FaultCase(encode, "answer", answers),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script.add(call("Bash", {"command": "touch made.txt"}, when="Make it"))
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, case.owner, case.name)
    await case.provoke(broken)
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_in_the_decoder_loses_one_frame(
    faulty: FaultyDaemon, model: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script.add(say("Hello."))
    neighbour, broken = await faulty.neighbour(), await faulty.session("claude", environment(tmp_path, model))
    fault = inject(monkeypatch, ClaudeMessages, "whole")
    await speaks(broken)
    await faulty.unparsed(broken, neighbour, fault)
