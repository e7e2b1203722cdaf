"""Locks by name."""

import asyncio

import anyio

from everyagent.sessions.locks import Locks


async def test_a_name_is_locked_once_at_a_time_and_forgotten_after_use() -> None:
    locks, inside, most = Locks(), 0, 0

    async def enter(name: str) -> None:
        nonlocal inside, most
        async with locks.hold(name):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(enter, "same")
    assert most == 1
    assert vars(locks) == {"_locks": {}, "_users": {}}


async def test_different_names_do_not_block_each_other() -> None:
    locks = Locks()
    async with locks.hold("one"), locks.hold("two"):
        pass


async def test_a_cancelled_waiter_leaves_the_lock_to_the_next() -> None:
    locks = Locks()
    async with locks.hold("one"):
        with anyio.move_on_after(0.01):
            async with locks.hold("one"):
                raise AssertionError("two at a time")
    async with locks.hold("one"):
        pass
    assert vars(locks) == {"_locks": {}, "_users": {}}
