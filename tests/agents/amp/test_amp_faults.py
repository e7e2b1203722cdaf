"""Faults in the Amp adapter, which end only the agent of their session."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from amp_stage import environment
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, faulty_daemon, inject
from tests.scripted.amp_replies import call, say
from tests.scripted.amp_server import AmpServer

from everyagent.agents.amp import attachments, encode, items, program
from everyagent.agents.amp.asks import AmpAsks
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.agents.amp.driver import AmpConversation
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


async def calls(session: FaultySession) -> None:
    await session.send("Make it")


async def answers(session: FaultySession) -> None:
    await session.send("Make it")
    await session.permit()


CASES = {
    "decode": FaultCase(AmpDecoder, "decode", speaks),
    "after a batch": FaultCase(AmpConversation, "_after", speaks),
    "process start": FaultCase(Process, "start", speaks),
    "prompt": FaultCase(encode, "prompt", speaks),
    "attachment": FaultCase(attachments, "content", shows),
    "permission hook": FaultCase(AmpAsks, "_rule", calls),
    "answer": FaultCase(AmpAsks, "answer", answers),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script.add(call("shell_command", {"command": "touch made.txt"}, when="Make it"))
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, case.owner, case.name)
    await case.provoke(broken)
    await faulty.contained(broken, neighbour, fault)


async def test_a_fault_in_the_decoder_loses_one_frame(
    faulty: FaultyDaemon, model: AmpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "read.txt").write_text("words")
    model.script.add(call("Read", {"path": str(tmp_path / "read.txt")}, text="I look.", when="Hello"), say("Hello."))
    neighbour, broken = await faulty.neighbour(), await faulty.session("amp", environment(tmp_path, model))
    fault = inject(monkeypatch, items, "message")
    await speaks(broken)
    await faulty.unparsed(broken, neighbour, fault)
