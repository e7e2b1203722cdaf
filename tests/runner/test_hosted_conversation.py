"""A conversation on a runner whose daemon refuses callbacks, or takes none for so long that the spool is full."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import anyio
import httpx2
import msgspec
import pytest

from everyagent.agents.adapter import Adapter, Launch
from everyagent.errors import AgentFailed
from everyagent.model.runners import Acknowledged
from everyagent.remote import wire
from everyagent.runner.hosted import HostedConversation, Room
from everyagent.runner.spool import Spool, SpooledConversation
from everyagent.runner.uplink import Refused, Uplink
from tests.runner.scripted_host import scripted_host
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


def answer(status: int) -> httpx2.Response:
    """An error of the daemon."""
    problem = {"type": "urn:everyagent:error:x", "code": "x", "detail": "It is not what an agent sends."}
    return httpx2.Response(status, json=problem)


class ScriptedUplink:
    """Answers callbacks as the test wants; `taken` are the entries that it accepted, at most `most` at once."""

    def __init__(self, statuses: list[int], most: int | None = None) -> None:
        self._statuses = statuses
        self.most = most
        self.taken: list[wire.Entry] = []

    async def callback(self, callback: wire.Callback) -> Acknowledged:
        if self._statuses:
            raise Refused(answer(self._statuses.pop(0)))
        if self.most is not None and len(callback.entries) > self.most:
            raise Refused(httpx2.Response(413, text="<html>413 Request Entity Too Large</html>"))
        self.taken += [wire.entry_decoder.decode(raw) for raw in callback.entries]
        return Acknowledged(sequence=callback.first + len(callback.entries) - 1)


async def _no_launch(session_id: str, epoch: int, launch: wire.RemoteLaunch) -> tuple[Adapter, Launch]:
    await anyio.wait_all_tasks_blocked()
    raise AgentFailed("No agent is launched in these tests.")


@asynccontextmanager
async def hosted(
    folder: Path, uplink: ScriptedUplink, entries: int = 0
) -> AsyncGenerator[tuple[HostedConversation, Callable[[], Awaitable[None]]]]:
    """A conversation that was in the spool, and a function that waits until nothing is left of it."""
    spool, gone = Spool(folder / "spool.db"), anyio.Event()
    spool.begin("one", 7)
    for number in range(1, entries + 1):
        spool.add("one", 7, number, msgspec.msgpack.encode(wire.Result(number)))
    async with anyio.create_task_group() as tasks:
        conversation = HostedConversation(
            SpooledConversation("one", 7, last=entries, command=0, ended=False),
            spool=spool,
            room=Room(spool, 1 << 20),
            uplink=cast("Uplink", uplink),
            spawn=cast("Callable[..., None]", tasks.start_soon),
            launched=_no_launch,
            gone=lambda _: gone.set(),
        )

        async def over() -> None:
            with anyio.fail_after(LIMIT_SECONDS):
                await gone.wait()
            assert spool.conversations() == []
            assert spool.bytes == 0

        yield conversation, over
        tasks.cancel_scope.cancel()
    spool.close()


@pytest.mark.parametrize("status", [400, 413])
async def test_a_callback_that_is_never_taken_ends_the_conversation_with_the_reason(
    tmp_path: Path, status: int
) -> None:
    uplink = ScriptedUplink([status])
    async with hosted(tmp_path, uplink) as (conversation, over):
        conversation.lost("The runner was restarted.")
        conversation.stored(0)
        await over()
    (death,) = uplink.taken
    assert isinstance(death, wire.Died)
    assert death.death.message == "The daemon refused what the runner sent: It is not what an agent sends."


async def test_a_conversation_whose_end_is_refused_is_forgotten(tmp_path: Path) -> None:
    uplink = ScriptedUplink([400, 400])
    async with hosted(tmp_path, uplink) as (conversation, over):
        conversation.lost("The runner was restarted.")
        conversation.stored(0)
        await over()
    assert uplink.taken == []


async def test_a_callback_that_may_be_taken_later_is_sent_again(tmp_path: Path) -> None:
    uplink = ScriptedUplink([503, 500])
    async with hosted(tmp_path, uplink) as (conversation, over):
        conversation.lost("The runner was restarted.")
        conversation.stored(0)
        await over()
    assert [msgspec.to_builtins(each)[0] for each in uplink.taken] == ["died"]


async def test_what_a_proxy_answers_does_not_end_a_conversation(tmp_path: Path) -> None:
    class Proxied(ScriptedUplink):
        async def callback(self, callback: wire.Callback) -> Acknowledged:
            if pages:
                raise Refused(pages.pop())
            return await super().callback(callback)

    pages = [httpx2.Response(status, text="<html>") for status in (400, 401, 403, 404, 502, 200)]
    uplink = Proxied([])
    async with hosted(tmp_path, uplink) as (conversation, over):
        conversation.lost("The runner was restarted.")
        conversation.stored(0)
        await over()
    assert [msgspec.to_builtins(each)[0] for each in uplink.taken] == ["died"]


async def test_a_callback_that_is_too_large_is_sent_in_parts(tmp_path: Path) -> None:
    uplink = ScriptedUplink([], most=1)
    async with hosted(tmp_path, uplink, entries=9) as (conversation, over):
        conversation.lost("The runner was restarted.")
        conversation.stored(0)
        await over()
    assert [msgspec.to_builtins(each)[:2] for each in uplink.taken[:-1]] == [["result", n] for n in range(1, 10)]
    assert [msgspec.to_builtins(each)[0] for each in uplink.taken[-1:]] == ["died"]


async def test_an_interrupt_does_not_overtake_the_message_before_it(tmp_path: Path) -> None:
    """Commands come in a burst after an outage."""
    async with scripted_host(tmp_path) as host:
        one = host.session("one")
        one.open()
        one.prompt()
        one.command(wire.Interrupt())
        results = await one.results(3)
    assert [(each.command, each.error) for each in results] == [(1, None), (2, None), (3, None)]


async def test_nobody_reads_from_agents_while_the_spool_is_full(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.db")
    room, read = Room(spool, 1000), anyio.Event()
    spool.begin("one", 7)
    spool.add("one", 7, 1, b"x" * 1001)

    async def reader() -> None:
        await room.wait()
        read.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        assert not read.is_set()
        room.freed()  # another conversation was acknowledged, which is not enough
        await anyio.wait_all_tasks_blocked()
        assert not read.is_set()
        spool.acknowledge("one", 7, 1)
        room.freed()
        with anyio.fail_after(LIMIT_SECONDS):
            await read.wait()
    spool.close()
