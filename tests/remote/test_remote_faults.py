"""Exceptions in the daemon's end of a runner's conversation, which end only the agent of their session."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from everyagent.agents.adapter import Conversation
from everyagent.errors import Unavailable
from everyagent.logs import Logger
from everyagent.model.sessions import CreateSession, SendMessage
from everyagent.remote import conversation, wire
from everyagent.remote.conversation import RemoteConversation
from everyagent.remote.item_ids import DerivedIds
from everyagent.sessions import Sessions
from everyagent.sessions.agent_link import RemoteListener
from tests.agents.callbacks import callbacks_of
from tests.agents.faults import InjectedFault, inject
from tests.remote.scripted_runner import ScriptedRunner, bodies, ended, remote_sessions, started
from tests.remote.test_remote_sessions import held, turn_end

pytestmark = pytest.mark.anyio


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The exceptions that were logged with their trace."""
    found: list[object] = []

    def recorded(_: Logger, event: str, **facts: object) -> None:
        if "exc_info" in facts:
            found.append(facts["exc_info"])

    monkeypatch.setattr(Logger, "error", recorded)
    return found


def of_one(conversation: RemoteConversation, _: object) -> bool:
    return conversation.session_id == "one"


def lists_one(_: object, held: wire.Held) -> bool:
    return held.session_id == "one"


async def codes(sessions: Sessions, session_id: str) -> list[str]:
    events = [msgspec.json.decode(body) for body in await bodies(sessions, session_id)]
    return [event["data"]["code"] for event in events if event["type"] == "error"]


async def undisturbed(sessions: Sessions, runner: ScriptedRunner, epoch: int) -> None:
    """The turn of the session `two` completes."""
    await runner.send("two", epoch, 3, started(epoch), ended())
    assert (await turn_end(sessions, "two"))["stop_reason"] == "end_turn"


async def works_again(sessions: Sessions, runner: ScriptedRunner) -> None:
    runner.commands.clear()
    epoch = await runner.prompted(sessions, "one")
    await runner.send("one", epoch, 3, started(epoch), ended())
    assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("owner", "name"),
    [(RemoteListener, "received_once"), (conversation, "decoded"), (DerivedIds, "applied_to")],
    ids=("the commit", "the decoder", "the ids"),
)
async def test_a_callback_that_raises_is_the_death_of_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: Sequence[object], owner: object, name: str
) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        one, two = await runner.begin(sessions, "one"), await runner.begin(sessions, "two")
        inject(monkeypatch, owner, name)
        assert (await runner.send("one", one, 3, started(one))).fenced
        assert (await turn_end(sessions, "one"))["stop_reason"] == "error"
        assert await codes(sessions, "one") == ["internal"]
        assert [type(each) for each in traces] == [InjectedFault]
        assert (await runner.send("one", one, 3, started(one))).fenced
        await undisturbed(sessions, runner, two)
        await works_again(sessions, runner)


async def test_a_death_that_cannot_be_reported_is_fenced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: Sequence[object]
) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        one, two = await runner.begin(sessions, "one"), await runner.begin(sessions, "two")
        inject(monkeypatch, RemoteListener, "died")
        death = wire.Died(msgspec.convert({"expected": True}, wire.Death))
        assert (await runner.send("one", one, 3, death)).fenced
        assert (await runner.send("one", one, 3, death)).fenced
        assert [type(each) for each in traces] == [InjectedFault]
        await undisturbed(sessions, runner, two)


async def test_a_conversation_that_raises_at_the_connect_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: Sequence[object]
) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        one, two = await runner.begin(sessions, "one"), await runner.begin(sessions, "two")
        runner.disconnect()
        inject(monkeypatch, RemoteConversation, "connected", of_one)
        await runner.connect(held("one", one, 2), held("two", two, 2))
        assert (await turn_end(sessions, "one"))["stop_reason"] == "error"
        assert await codes(sessions, "one") == ["internal"]
        assert [type(each) for each in traces] == [InjectedFault]
        await undisturbed(sessions, runner, two)
        await works_again(sessions, runner)


async def opened(sessions: Sessions, runner: ScriptedRunner) -> int:
    """The epoch of a session whose message is committed, but has not reached the runner."""
    await sessions.create("one", CreateSession(agent="mock", runner="far"))
    await sessions.send("one", SendMessage(message="hello"))
    command = await runner.command(wire.Open, "one")
    await runner.send("one", command.epoch, 1, wire.Result(command.number))
    await runner.command(wire.GivePrompt, "one")
    return command.epoch


def unavailable() -> Unavailable:
    return Unavailable("The log cannot be read. Try again.")


@pytest.mark.parametrize("last", [1, 2], ids=("at the connect", "after a callback"))
async def test_a_message_is_sent_when_the_log_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """A message that an earlier daemon committed."""
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await opened(sessions, runner)
    fault = inject(monkeypatch, RemoteListener, "missed", error=unavailable())
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", epoch, last, command=1, busy=False))
        if last == 2:
            with pytest.raises(Unavailable):
                await again.send("one", epoch, 2, started(epoch))
            assert (await again.send("one", epoch, 2, started(epoch))).sequence == 2
        sent = await again.command(wire.GivePrompt, "one")
        assert fault.raised == 1
        await again.send("one", epoch, last + 1, wire.Result(sent.number), ended())
        assert (await turn_end(sessions, "one"))["stop_reason"] == "end_turn"
        assert [type(each.action) for each in again.commands] == [wire.GivePrompt]


async def test_messages_that_cannot_be_found_are_the_death_of_their_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: Sequence[object]
) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch, two = await opened(sessions, runner), await runner.begin(sessions, "two")
    inject(monkeypatch, RemoteListener, "missed", lists_one)
    async with remote_sessions(tmp_path, before=runner) as (sessions, again):
        await again.connect(held("one", epoch, 1, command=1, busy=False), held("two", two, 2))
        assert (await turn_end(sessions, "one"))["stop_reason"] == "error"
        assert await codes(sessions, "one") == ["internal"]
        assert [type(each) for each in traces] == [InjectedFault]
        await undisturbed(sessions, again, two)


#: They contain the faults of what they call. The commands of the session are tested with the sessions.
GUARDS = {"take", "catch_up", "fail", "die"}
COMMANDS = {name for name in vars(Conversation) if not name.startswith("_")} | {"open"}


def test_every_callback_has_a_case() -> None:
    known = {"connected", *GUARDS, *COMMANDS}
    assert callbacks_of(RemoteConversation) <= {f"RemoteConversation.{name}" for name in known}
