"""Exceptions in one conversation of a runner, which end its agent and no other."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import apsw
import pytest

from everyagent.errors import AgentFailed
from everyagent.logs import Logger
from everyagent.remote import wire
from everyagent.runner import hosted
from everyagent.runner.host import Host
from everyagent.runner.hosted import HostedConversation
from everyagent.runner.scoped_keys import ScopedKeys
from everyagent.runner.scratch import RunnerScratch
from everyagent.runner.spool import Spool, SpoolFailed
from tests.agents.callbacks import callbacks_of
from tests.agents.faults import InjectedFault, inject
from tests.runner.scripted_host import (
    HostedSession,
    ScriptedAdapter,
    ScriptedDaemon,
    ScriptedHost,
    scripted_host,
)
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio


class Case(NamedTuple):
    """`owner.name` raises `error` once `when` accepts its arguments, which are those of a call for session `one`."""

    owner: object
    name: str
    error: Exception
    when: Callable[..., bool]

    def __str__(self) -> str:
        return f"{getattr(self.owner, '__name__', '').rpartition('.')[2]}.{self.name}"


def always(*_: object) -> bool:
    return True


def from_one(_: object, callback: wire.Callback) -> bool:
    return callback.session_id == "one"


def of_one(_: object, session_id: str, *__: object, **___: object) -> bool:
    return session_id == "one"


def keys_of_one(keys: object, *_: object) -> bool:
    return getattr(keys, "_session_id", "") == "one"


def hosted_one(conversation: HostedConversation, *_: object) -> bool:
    return conversation.session_id == "one"


FULL = apsw.FullError("database or disk is full")
CASES = [
    Case(RunnerScratch, "make", OSError(28, "No space left on device"), of_one),
    Case(Host, "_launched", InjectedFault(), of_one),
    Case(Spool, "begin", FULL, of_one),
    Case(Spool, "received", FULL, of_one),
    Case(Spool, "add", FULL, of_one),
    Case(Spool, "pending", apsw.IOError("disk I/O error"), of_one),
    Case(Spool, "acknowledge", FULL, of_one),
    Case(ScriptedDaemon, "callback", InjectedFault(), from_one),
    Case(hosted, "encoded", InjectedFault(), always),
    Case(ScopedKeys, "applied_to", InjectedFault(), keys_of_one),
    Case(ScopedKeys, "begin_turn", InjectedFault(), keys_of_one),
    Case(ScopedKeys, "native_ask", InjectedFault(), keys_of_one),
    Case(HostedConversation, "held", InjectedFault(), hosted_one),
    Case(HostedConversation, "take", InjectedFault(), hosted_one),
    Case(HostedConversation, "stored", InjectedFault(), hosted_one),
    Case(HostedConversation, "received", InjectedFault(), hosted_one),
    Case(HostedConversation, "_do", InjectedFault(), hosted_one),
    Case(HostedConversation, "_spool_result", InjectedFault(), hosted_one),
    Case(HostedConversation, "_send_all", InjectedFault(), hosted_one),
    Case(HostedConversation, "_next", InjectedFault(), hosted_one),
]
#: They contain the faults of what they call: `fail` and `died` report an end, and the others are tasks.
GUARDS = {"fail", "died", "_failed", "_end_fenced", "_carry_out", "_carry_out_all", "_interrupt", "_keep_sending"}
#: They have tests of their own.
OTHERS = {"HostedConversation.lost", "HostedConversation.close"}


def test_every_callback_has_a_case() -> None:
    guards = {f"HostedConversation.{name}" for name in GUARDS}
    assert callbacks_of(HostedConversation) <= {*map(str, CASES), *guards, *OTHERS}


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The messages that were logged with a trace."""
    found: list[object] = []
    log = Logger._log  # pyright: ignore[reportPrivateUsage]

    def recorded(self: Logger, level: str, event: str, facts: dict[str, object]) -> None:
        if facts.get("exc_info"):
            found.append(event)
        log(self, level, event, facts)

    monkeypatch.setattr(Logger, "_log", recorded)
    return found


async def waiting_neighbour(host: ScriptedHost) -> HostedSession:
    """A conversation in the middle of a turn."""
    neighbour = host.session("two")
    neighbour.open()
    neighbour.prompt()
    await neighbour.frames(1)
    return neighbour


async def undisturbed(neighbour: HostedSession) -> None:
    neighbour.answer()
    await neighbour.frames(2)
    assert [each.error for each in await neighbour.results(3)] == [None] * 3


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_only_the_agent_of_its_conversation(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: list[object]
) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour, broken = await waiting_neighbour(host), host.session("one")
        fault = inject(monkeypatch, case.owner, case.name, case.when, case.error)
        broken.open()
        broken.prompt()
        await broken.asked_or_dead()
        broken.welcome()
        await host.host.hello()
        broken.answer()
        death = await broken.death()
        assert fault.raised == 1
        assert (death.code, death.expected) == ("internal", False)
        assert type(case.error).__name__ in str(death.message)
        assert len(traces) == 1
        assert "one" not in host.adapter.conversations or host.adapter.conversations["one"].closed
        await broken.over()
        await undisturbed(neighbour)
        await host.session("one", epoch=8).whole_turn()


async def test_a_disk_that_stays_full_does_not_hide_an_agents_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise FULL

    async with scripted_host(tmp_path) as host:
        neighbour, broken = await waiting_neighbour(host), host.session("one")
        with monkeypatch.context() as disk:
            for write in ("begin", "received", "add", "acknowledge", "forget"):
                disk.setattr(Spool, write, full)
            broken.open()
            assert "database or disk is full" in str((await broken.death()).message)
            await broken.over()
        await undisturbed(neighbour)


async def test_a_folder_that_cannot_be_removed_ends_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour, over = await waiting_neighbour(host), host.session("one")
        await over.whole_turn()
        over.command(wire.Close(force=False))
        await over.death()
        await over.over()
        fault = inject(monkeypatch, Spool, "drop_scratch", of_one, SpoolFailed("It is full."))
        host.host.take(wire.Forget(sessions=["one"]))
        with anyio.fail_after(LIMIT_SECONDS):
            while not fault.raised:
                await anyio.sleep(0.01)
        await undisturbed(neighbour)
        assert "one" in (await host.host.hello()).scratch


async def test_an_agent_that_cannot_be_examined_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour = await waiting_neighbour(host)
        inject(monkeypatch, ScriptedAdapter, "state")
        assert (await host.host.hello()).agents == []
        await undisturbed(neighbour)


async def test_a_conversation_that_cannot_be_deleted_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour, broken = await waiting_neighbour(host), host.session("one")
        inject(monkeypatch, Spool, "forget", of_one, FULL)
        broken.open()
        broken.command(wire.Close(force=False))
        assert (await broken.death()).expected
        await broken.gone()
        await undisturbed(neighbour)


async def test_an_agent_that_does_not_start_is_reported_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_host(tmp_path) as host:
        one = host.session("one")
        inject(monkeypatch, ScriptedAdapter, "open", error=AgentFailed("It has no license."))
        one.open()
        (result,) = await one.results(1)
        assert (result.code, result.error) == ("agent_failed", "It has no license.")
        await one.over()
        await host.session("one", epoch=8).whole_turn()


async def test_the_runner_ends_all_its_agents_when_one_does_not_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour, broken = await waiting_neighbour(host), host.session("one")
        broken.open()
        await broken.results(1)
        inject(monkeypatch, HostedConversation, "close", hosted_one)
        await host.host.close()
        assert (await neighbour.death()).expected
        assert (await broken.death()).code == "internal"
        assert all(each.closed for each in host.adapter.conversations.values())


async def test_a_conversation_of_an_earlier_runner_that_raises_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_host(tmp_path) as host:
        neighbour, broken = await waiting_neighbour(host), host.session("one")
        broken.open()
        await broken.results(1)
        daemon = host.daemon
    inject(monkeypatch, HostedConversation, "lost", hosted_one)
    async with scripted_host(tmp_path, daemon) as host:
        for each in (host.session("one"), host.session("two")):
            each.welcome()
        assert "an internal error of everyagent" in str((await host.session("one").death()).message)
        assert "The runner was restarted" in str((await neighbour.death()).message)
        await host.session("one").over()
