"""Faults in callbacks of the mock's adapter, which end only the agent of their session."""

import os
import signal
from pathlib import Path

import pytest
from tests.agents.faults import (
    FaultCase,
    FaultySession,
    RecordedListener,
    faulty_daemon,
    inject,
    until,
)

from everyagent.agents.mock import driver, encode, items
from everyagent.agents.mock.driver import MockConversation
from everyagent.model.events import Error, ItemCompleted, PermissionRequested, TurnEnded, TurnStarted
from everyagent.runtime.process import Process


async def speaks(session: FaultySession) -> None:
    await session.send("hello")


async def crashes(session: FaultySession) -> None:
    await session.send("words [crash]")


async def answers(session: FaultySession) -> None:
    await session.send("[ask]")
    await session.permit()


async def steers(session: FaultySession) -> None:
    await session.send("[ask]")
    await session.next(PermissionRequested)
    await session.call("POST", "/messages", {"message": "more", "delivery": "steer"})


async def changes(session: FaultySession) -> None:
    await session.send("[ask]")
    await session.next(PermissionRequested)
    await session.call("PATCH", "", {"model": "mock-large"})


async def interrupts_a_subagent(session: FaultySession) -> None:
    await session.send('[subagent command="echo $((40 + 2)) at work; tail -f /dev/null"]')
    await session.until_text("42 at work")
    calls = [done.item for done in await session.all(ItemCompleted) if done.item.kind == "tool_call"]
    task = next(item for item in calls if item.name == "task")
    await session.call("POST", f"/subagents/{task.item_id}/cancel")


CASES = {
    "decode": FaultCase(MockConversation, "_decode", speaks),
    "process start": FaultCase(Process, "start", speaks),
    "first frame": FaultCase(encode, "start", speaks),
    "prompt": FaultCase(encode, "prompt", speaks),
    "answer": FaultCase(encode, "answer", answers),
    "steer": FaultCase(encode, "steer", steers),
    "change": FaultCase(encode, "change", changes),
    "interrupt of a sub-agent": FaultCase(encode, "interrupt_subagent", interrupts_a_subagent),
    "end of the process": FaultCase(driver, "_ended", crashes),
    "listener": FaultCase(RecordedListener, "received", speaks),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_fault_ends_only_the_agent_of_its_session(
    case: FaultCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        fault = inject(monkeypatch, case.owner, case.name)
        await case.provoke(broken)
        await daemon.contained(broken, neighbour, fault)


async def test_a_fault_in_the_decoder_loses_one_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        fault = inject(monkeypatch, items, "message")
        await speaks(broken)
        await daemon.unparsed(broken, neighbour, fault)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        await broken.send("[ask]")
        await broken.next(PermissionRequested)
        fault = inject(monkeypatch, encode, "interrupt")
        await broken.call("POST", "/cancel")
        assert (await broken.next(TurnEnded)).stop_reason == "interrupted"
        assert fault.raised == 1
        assert daemon.injected() == 1
        await until(lambda: not broken.processes())
        assert await broken.all(Error) == []
        assert (await broken.turn("hello")).stop_reason == "end_turn"
        await daemon.undisturbed(neighbour)


async def test_a_fault_while_a_death_is_reported_affects_no_other_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        await broken.send("[ask]")
        await broken.next(PermissionRequested)
        fault = inject(monkeypatch, RecordedListener, "died")
        for pid in broken.processes():
            os.kill(pid, signal.SIGKILL)
        await until(lambda: fault.raised == 1)
        await daemon.undisturbed(neighbour)
        assert daemon.injected() == 1
        await broken.call("POST", "/cancel")
        await broken.next(TurnEnded)
        assert len(await broken.all(TurnStarted)) == 1
        assert (await broken.turn("hello")).stop_reason == "end_turn"
