"""Faults in callbacks of the mock's adapter, which end only the agent of their session."""

import os
import signal
from pathlib import Path

import pytest
from tests.agents.callbacks import callbacks
from tests.agents.faults import (
    FaultCase,
    FaultySession,
    RecordedListener,
    command_cases,
    faulty_daemon,
    inject,
    sends,
    until,
)

from everyagent.agents.mock import driver, encode, items
from everyagent.agents.mock.driver import MockConversation
from everyagent.model.events import ItemCompleted, PermissionRequested, TurnEnded, TurnStarted
from everyagent.runtime.process import Process

SUBAGENT = '[subagent command="echo $((40 + 2)) at work; tail -f /dev/null"]'


async def interrupts_a_subagent(session: FaultySession) -> None:
    await session.send(SUBAGENT)
    await session.until_text("42 at work")
    tools = [done.item for done in await session.all(ItemCompleted) if done.item.kind == "tool_call"]
    task = next(item for item in tools if item.name == "task")
    await session.call("POST", f"/subagents/{task.item_id}/cancel")


CASES = [
    *command_cases(MockConversation, "[ask]"),
    FaultCase(MockConversation, "_decode", sends("hello")),
    FaultCase(Process, "start", sends("hello")),
    FaultCase(encode, "interrupt_subagent", interrupts_a_subagent),
    FaultCase(driver, "_ended", sends("words [crash]")),
    FaultCase(RecordedListener, "received", sends("hello")),
]


def test_every_callback_has_a_case() -> None:
    assert callbacks("mock") <= {*map(str, CASES), "MockConversation.interrupt", "MockConversation.close"}


@pytest.mark.parametrize("case", CASES, ids=str)
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
        await broken.send("hello")
        await daemon.unparsed(broken, neighbour, fault)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        fault = inject(monkeypatch, MockConversation, "interrupt")
        await daemon.cancelled(broken, neighbour, fault, "[ask]")


async def test_a_fault_in_closing_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour, broken = await daemon.neighbour(), await daemon.session("mock")
        assert (await broken.turn("hello")).stop_reason == "end_turn"
        fault = inject(monkeypatch, MockConversation, "close")
        await daemon.closed(broken, neighbour, fault)


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
