"""Sessions whose runner leaves, returns, is replaced or misses a command."""

from pathlib import Path

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from everyagent.errors import BadRequest, Unavailable, UnsupportedChoice
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import PermissionRequested
from everyagent.model.runners import Acknowledged
from everyagent.model.sessions import Attachment, CreateSession, SendMessage
from everyagent.remote import wire
from everyagent.sessions import Sessions
from tests.remote.scripted_runner import ScriptedRunner, bodies, delta, ended, frames, held, remote_sessions, started
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


async def turn_end(sessions: Sessions, session_id: str) -> dict[str, object]:
    """The data of the last `turn.ended`, when no turn runs."""
    with anyio.fail_after(LIMIT_SECONDS):
        while (await sessions.get(session_id)).status == "running":
            await anyio.sleep(0.005)
    events = [msgspec.json.decode(body) for body in await bodies(sessions, session_id)]
    return [event["data"] for event in events if event["type"] == "turn.ended"][-1]


async def first_input(sessions: Sessions, session_id: str) -> str:
    """The item of the message that began the first turn."""
    events = [msgspec.json.decode(body) for body in await bodies(sessions, session_id)]
    return next(event["data"]["input_item_ids"][0] for event in events if event["type"] == "turn.started")


async def test_a_runner_that_stays_away_is_given_up_after_its_lease(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path, lease=0.05) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch))
        runner.disconnect()
        error = (await turn_end(sessions, "one"))["error"]
        assert "was not connected for" in str(error)
        assert (await runner.send("one", epoch, 4, delta(epoch, "late "))).fenced
        with pytest.raises(Unavailable, match="not connected"):
            await sessions.create("two", CreateSession(agent="mock", runner="far"))
        await sessions.send("one", SendMessage(message="again"))
        assert "everyagent runner --connect" in str((await turn_end(sessions, "one"))["error"])


async def test_a_runner_that_returns_goes_on(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        runner.disconnect()
        await runner.connect(held("one", epoch, 4))
        with anyio.fail_after(LIMIT_SECONDS):
            while runner.welcome is None or not runner.welcome.positions:
                await anyio.sleep(0.005)
        assert runner.welcome.positions == [wire.Position(session_id="one", epoch=epoch, sequence=2)]
        await runner.send("one", epoch, 3, started(epoch), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"


async def test_a_replaced_runner_writes_nothing_any_more(tmp_path: Path) -> None:
    """A process that was stopped, replaced by another one of the same name, and continued."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch))
        other = ScriptedRunner(runner.runners, (await runner.runners.keys.create("far")).secret)
        await other.connect(instance="two")
        assert "no longer has the agent" in str((await turn_end(sessions, "one"))["error"])
        before = (await sessions.get("one")).event_count
        assert (await runner.send("one", epoch, 4, delta(epoch, "late "))).fenced
        assert (await sessions.get("one")).event_count == before
        with anyio.fail_after(LIMIT_SECONDS):
            while not runner.replaced:
                await anyio.sleep(0.005)


async def test_a_turn_goes_on_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch), delta(epoch, "a "))
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", epoch, 5))
        stale = await again.send("one", epoch, 3, started(epoch), delta(epoch, "a "))
        assert stale == Acknowledged(sequence=4)
        await again.send("one", epoch, 5, delta(epoch, "b "), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"
        events = [msgspec.json.decode(body) for body in await bodies(sessions, "one")]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        done = [event["data"]["item"] for event in events if event["type"] == "item.completed"]
        assert done[-1]["content"] == [{"type": "text", "text": "a b "}]


async def test_a_message_with_reasoning_goes_on_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    """Its second item is found again by the key of its first."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        thoughts = [delta(epoch, "why", "reasoning"), delta(epoch, " not", "reasoning", 1)]
        await runner.send("one", epoch, 3, started(epoch), *thoughts, delta(epoch, "a ", index=2))
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", epoch, 7))
        await again.send("one", epoch, 7, delta(epoch, "b ", index=2), delta(epoch, "so", "reasoning", 3), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"
        events = [msgspec.json.decode(body) for body in await bodies(sessions, "one")]
        done = [event["data"]["item"] for event in events if event["type"] == "item.completed"]
        assert [[(part["type"], part["text"]) for part in item["content"]] for item in done[-3:]] == [
            [("reasoning", "why not")],
            [("text", "a b ")],
            [("reasoning", "so")],
        ]
        deltas = [event["data"] for event in events if event["type"] == "item.delta"]
        # A letter with which a secret begins is held back until the next one, so pieces are not as they came.
        for one, whole in zip(done[-3:], ("why not", "a b ", "so"), strict=True):
            assert "".join(each["delta"] for each in deltas if each["item_id"] == one["item_id"]) == whole
        assert {each["item_id"] for each in deltas if each["content_index"] == 1} == {done[-3]["item_id"]}


async def test_a_message_that_was_lost_with_the_daemon_is_sent_again(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        await sessions.create("one", CreateSession(agent="mock", runner="far"))
        await sessions.send("one", SendMessage(message="hello"))
        opened = await runner.command(wire.Open, "one")
        await runner.send("one", opened.epoch, 1, wire.Result(opened.number))
        lost = await runner.command(wire.GivePrompt, "one")
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", opened.epoch, 1, command=1, busy=False))
        sent = await again.command(wire.GivePrompt, "one")
        assert (sent.number, sent.action) == (2, lost.action)
        await again.send("one", opened.epoch, 2, wire.Result(2), started(opened.epoch), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"


async def test_a_message_that_the_log_does_not_have_whole_ends_its_turn(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        await sessions.create("one", CreateSession(agent="mock", runner="far"))
        attached = Attachment(data="aGVsbG8=", filename="hello.txt")
        await sessions.send("one", SendMessage(message="hello", attachments=[attached]))
        opened = await runner.command(wire.Open, "one")
        await runner.send("one", opened.epoch, 1, wire.Result(opened.number))
        await runner.command(wire.GivePrompt, "one")
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", opened.epoch, 1, command=1, busy=False))
        assert "which has attachments" in str((await turn_end(sessions, "one"))["error"])


async def test_an_answer_that_was_lost_with_the_daemon_is_sent_again(tmp_path: Path) -> None:
    """The daemon ends when the answer is committed, and before the runner got it."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        request = PermissionRequested(permission_id=f"{epoch}.ask1.p", action="bash", status="requested")
        await runner.send("one", epoch, 3, frames(request))
        (ask,) = await sessions.asks("one", pending=True)
        runner.disconnect()
        await sessions.answer("one", ask.ask_id, PermissionAnswer(reply="once"))
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        mine = replace(held("one", epoch, 3), asks=[ask.ask_id], prompts=[await first_input(sessions, "one")])
        await again.connect(mine)
        sent = await again.command(wire.GiveAnswer, "one")
        assert sent.action == wire.GiveAnswer(ask.ask_id, PermissionAnswer(reply="once"))
        assert [type(each.action) for each in again.commands] == [wire.GiveAnswer]
        await again.send("one", epoch, 4, wire.Result(sent.number), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"


async def test_what_a_runner_cannot_do_is_refused(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        with pytest.raises(UnsupportedChoice, match="on a runner"):
            await sessions.create("no", CreateSession(agent="mock", runner="far", isolation="container"))
        with pytest.raises(Unavailable, match="labels"):
            await sessions.create("no", CreateSession(agent="mock", runner={"gpu": "yes"}))
        await runner.connect(labels={"gpu": "yes", "zone": "eu"})
        info = await sessions.create("yes", CreateSession(agent="mock", runner={"gpu": "yes"}))
        assert info.runner == "far"
        with pytest.raises(BadRequest, match="runner"):
            await sessions.directory("yes")
        await runner.connect(labels={"gpu": "yes"}, agents=["claude"])
        for runner_choice in ("far", {"gpu": "yes"}):
            with pytest.raises(Unavailable, match="everyagent agents install mock"):
                await sessions.create("no", CreateSession(agent="mock", runner=runner_choice))


async def test_drafts_after_an_ended_turn_are_stored(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch), ended(), frames())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"
