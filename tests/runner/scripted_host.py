"""The host of a runner in the test's own process, with an agent and a daemon that do what the test wants."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar, cast

import anyio

from everyagent.agents.adapter import (
    AgentState,
    Capabilities,
    Catalog,
    Change,
    Conversation,
    Death,
    DecodedFrame,
    Draft,
    Frame,
    Launch,
    Listener,
    Prompt,
)
from everyagent.agents.lazy_adapter import LazyAdapter
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.events import PermissionRequested, TurnEnded
from everyagent.model.ids import derived_id
from everyagent.model.runners import Acknowledged
from everyagent.remote import wire
from everyagent.runner.host import Host, RunnerSettings
from everyagent.runner.spool import Spool
from everyagent.runner.uplink import Uplink
from tests.waiting import LIMIT_SECONDS

AGENT = "scripted"
E = TypeVar("E", bound=wire.Entry)


class ScriptedConversation:
    """Asks for a permission in each turn, and ends the turn with the answer."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.closed = False

    async def prompt(self, prompt: Prompt) -> None:
        await self._send(PermissionRequested(permission_id="p", action="bash", status="requested"))

    async def steer(self, prompt: Prompt) -> None:
        """Ignored."""

    async def answer(self, ask_key: str, answer: Answer) -> None:
        assert ask_key == "p"
        await self._send(TurnEnded(turn_id="", stop_reason="end_turn"))

    async def interrupt(self) -> None:
        await self._send(TurnEnded(turn_id="", stop_reason="interrupted"))

    async def interrupt_subagent(self, call: str) -> bool:
        return False

    async def change(self, change: Change) -> bool:
        return True

    async def close(self, *, force: bool = False) -> None:
        if not self.closed:
            self.closed = True
            await self._listener.died(Death(expected=True))

    async def _send(self, draft: Draft) -> None:
        await self._listener.received([DecodedFrame(Frame("from_agent", b"{}"), [draft])])


class ScriptedAdapter:
    """Its conversations, by session, are those that were opened last."""

    name = title = AGENT
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.conversations: dict[str, ScriptedConversation] = {}

    async def state(self, _: str = AGENT) -> AgentState:
        return AgentState(installed=True, credentials_available=True)

    async def catalog(self) -> Catalog:
        return Catalog(models=[], default_model=None, agent_modes=[], permission_modes=[])

    async def install(self, *, reinstall: bool) -> AgentState:
        return await self.state()

    async def open(self, launch: Launch, listener: Listener) -> Conversation:
        opened = self.conversations[launch.session_id] = ScriptedConversation(listener)
        return opened

    async def close(self) -> None:
        """There is nothing to close."""


class ScriptedDaemon:
    """Takes all callbacks. `entries` are those of each conversation, in order."""

    url = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.entries: dict[tuple[str, int], list[wire.Entry]] = {}

    async def callback(self, callback: wire.Callback) -> Acknowledged:
        taken = self.entries.setdefault((callback.session_id, callback.epoch), [])
        assert callback.first <= len(taken) + 1, "the entries have a gap"
        new = callback.entries[len(taken) + 1 - callback.first :]
        taken += [wire.entry_decoder.decode(raw) for raw in new]
        return Acknowledged(sequence=len(taken))

    def found(self, kind: type[E], session_id: str, epoch: int) -> list[E]:
        return [each for each in self.entries.get((session_id, epoch), []) if isinstance(each, kind)]


class HostedSession:
    """The daemon's commands to one conversation."""

    def __init__(self, host: "ScriptedHost", session_id: str, epoch: int) -> None:
        self.host = host
        self.session_id = session_id
        self.epoch = epoch
        self._number = 0

    def command(self, action: wire.Action) -> None:
        self._number += 1
        self.host.host.take(
            wire.Command(session_id=self.session_id, epoch=self.epoch, number=self._number, action=action)
        )

    def open(self) -> None:
        launch = wire.RemoteLaunch(agent=AGENT, directory="", permission_mode="default", agent_mode="build")
        self.command(wire.Open(launch))

    def prompt(self) -> None:
        self.command(wire.GivePrompt(Prompt(item_id="itm_1", text="hello")))

    def answer(self) -> None:
        ask_id = derived_id("perm_", self.session_id, f"{self.epoch}.ask1.p")
        self.command(wire.GiveAnswer(ask_id, PermissionAnswer(reply="once")))

    def welcome(self) -> None:
        """The daemon has all that it got."""
        stored = len(self.host.daemon.entries.get((self.session_id, self.epoch), []))
        position = wire.Position(session_id=self.session_id, epoch=self.epoch, sequence=stored)
        self.host.host.take(wire.Welcome(positions=[position]))

    async def frames(self, number: int) -> None:
        await until(lambda: len(self._found(wire.Frames)) >= number)

    async def results(self, number: int) -> list[wire.Result]:
        await until(lambda: len(self._found(wire.Result)) >= number)
        return self._found(wire.Result)

    async def asked_or_dead(self) -> None:
        await until(lambda: self._found(wire.Frames) or self._found(wire.Died))

    async def death(self) -> Death:
        await until(lambda: self._found(wire.Died))
        (died,) = self._found(wire.Died)
        return died.death

    async def gone(self) -> None:
        """Wait until the host does not have it any more."""
        with anyio.fail_after(LIMIT_SECONDS):
            while any(each.session_id == self.session_id for each in (await self.host.host.hello()).held):
                await anyio.sleep(0.005)

    async def over(self) -> None:
        """Wait until the host has no trace of it."""
        await self.gone()
        assert all(each.session_id != self.session_id for each in self.host.spool.conversations())

    async def whole_turn(self) -> None:
        self.open()
        self.prompt()
        await self.frames(1)
        self.answer()
        await self.frames(2)

    def _found(self, kind: type[E]) -> list[E]:
        return self.host.daemon.found(kind, self.session_id, self.epoch)


async def until(met: Callable[[], object]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not met():
            await anyio.sleep(0.005)


class ScriptedHost:
    def __init__(self, host: Host, adapter: ScriptedAdapter, spool: Spool, daemon: ScriptedDaemon) -> None:
        self.host = host
        self.adapter = adapter
        self.spool = spool
        self.daemon = daemon

    def session(self, session_id: str, epoch: int = 7) -> HostedSession:
        return HostedSession(self, session_id, epoch)


@asynccontextmanager
async def scripted_host(folder: Path, daemon: ScriptedDaemon | None = None) -> AsyncGenerator[ScriptedHost]:
    """Without a connection: the test passes commands to the host. With `daemon`, the runner is started again."""
    (work := folder / "work").mkdir(exist_ok=True)
    settings = RunnerSettings(
        url=ScriptedDaemon.url, directory=work, folder=folder / "runner", data_dir=folder / "data", isolation="none"
    )
    settings.folder.mkdir(exist_ok=True)
    spool, adapter, daemon = Spool(settings.folder / "spool.db"), ScriptedAdapter(), daemon or ScriptedDaemon()
    lazy = LazyAdapter(AGENT, AGENT, lambda: adapter, adapter.state)
    async with anyio.create_task_group() as tasks:
        spawn = cast("Callable[..., None]", tasks.start_soon)
        host = Host(settings, [lazy], spool, cast("Uplink", daemon), spawn, "instance")
        yield ScriptedHost(host, adapter, spool, daemon)
        tasks.cancel_scope.cancel()
    spool.close()
