"""Commands of the time between a restart of the daemon and the return of the runner."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from everyagent.model.sessions import Attachment, SendMessage
from everyagent.remote import wire
from everyagent.sessions import Sessions
from tests.remote.scripted_runner import ScriptedRunner, ended, held, remote_sessions, started
from tests.remote.test_remote_sessions import first_input, turn_end

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def restarted(tmp_path: Path) -> AsyncGenerator[tuple[Sessions, ScriptedRunner, wire.Held]]:
    """The daemon after a restart in a turn, its runner, which is not connected yet, and the runner's conversation."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch))
        mine = replace(held("one", epoch, 3), prompts=[await first_input(sessions, "one")])
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        yield sessions, again, mine


async def steer(sessions: Sessions, text: str, *attachments: Attachment) -> None:
    await sessions.send("one", SendMessage(message=text, delivery="steer", attachments=[*attachments]))


async def test_a_cancel_reaches_the_runner(tmp_path: Path) -> None:
    async with restarted(tmp_path) as (sessions, runner, mine):
        assert await sessions.cancel("one")
        await runner.connect(mine)
        sent = await runner.command(wire.Interrupt, "one")
        assert sent.number == 3
        await runner.send("one", mine.epoch, 4, wire.Result(3), ended())
        await turn_end(sessions, "one")


async def test_a_message_with_an_attachment_reaches_the_runner(tmp_path: Path) -> None:
    async with restarted(tmp_path) as (sessions, runner, mine):
        attached = Attachment(data="aGVsbG8=", filename="hello.txt")
        await steer(sessions, "look", attached)
        await runner.connect(mine)
        sent = await runner.command(wire.Steer, "one")
        assert isinstance(sent.action, wire.Steer)
        assert [each.data for each in sent.action.prompt.attachments] == [attached.data]
        await runner.send("one", mine.epoch, 4, wire.Result(3), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"


async def test_each_message_reaches_the_runner_once_and_in_order(tmp_path: Path) -> None:
    async with restarted(tmp_path) as (sessions, runner, mine):
        for text in ("a", "b", "c"):
            await steer(sessions, text)
        await runner.connect(mine)
        while len(runner.commands) < 3:
            await runner.command(wire.Steer, "one")
        await runner.send("one", mine.epoch, 4, *(wire.Result(number) for number in (3, 4, 5)), ended())
        await turn_end(sessions, "one")
        numbers = [each.number for each in runner.commands]
        texts = [each.action.prompt.text for each in runner.commands if isinstance(each.action, wire.Steer)]
        assert (numbers, texts) == ([3, 4, 5], ["a", "b", "c"])


async def test_a_message_of_the_earlier_daemon_goes_before_those_of_this_one(tmp_path: Path) -> None:
    async with restarted(tmp_path) as (sessions, runner, mine):
        await steer(sessions, "later")
        await runner.connect(replace(mine, command=1, prompts=[]))
        await runner.command(wire.Steer, "one")
        assert [(each.number, type(each.action)) for each in runner.commands] == [(2, wire.GivePrompt), (3, wire.Steer)]
