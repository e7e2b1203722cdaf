"""Supervised tasks: a fault in one ends no other."""

import anyio
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.supervision import TaskSupervisor


async def test_a_task_that_raises_ends_no_other_task() -> None:
    faults: list[Exception] = []
    finished = anyio.Event()

    async def broken() -> None:
        raise TypeError("unexpected frame")

    async def healthy() -> None:
        with anyio.fail_after(LIMIT_SECONDS):
            while not faults:
                await anyio.sleep(0.01)
        finished.set()

    async def report(fault: Exception) -> None:
        faults.append(fault)

    async with anyio.create_task_group() as tasks:
        supervisor = TaskSupervisor(tasks)
        supervisor.start_soon(healthy)
        supervisor.start_soon(broken, on_fault=report)
    assert finished.is_set()
    assert [type(fault) for fault in faults] == [TypeError]


async def test_a_fault_handler_that_raises_is_contained() -> None:
    async def broken() -> None:
        raise TypeError("unexpected frame")

    async def report(_: Exception) -> None:
        raise ValueError("the session is gone")

    async with anyio.create_task_group() as tasks:
        TaskSupervisor(tasks).start_soon(broken, on_fault=report)


async def test_cancellation_passes_through() -> None:
    reported: list[Exception] = []

    async def report(fault: Exception) -> None:
        reported.append(fault)

    async with anyio.create_task_group() as tasks:
        TaskSupervisor(tasks).start_soon(anyio.sleep_forever, on_fault=report)
        await anyio.sleep(0)
        tasks.cancel_scope.cancel()
    assert reported == []
