"""The conversations of a runner, and the launch of their agents on its machine."""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
from msgspec import Struct

from everyagent import __version__
from everyagent.agents.adapter import Adapter, Launch
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.isolation import Isolation, IsolationChoice
from everyagent.remote import wire
from everyagent.runner.hosted import HostedConversation, Room
from everyagent.runner.scratch import RunnerScratch
from everyagent.runner.spool import Spool, SpooledConversation
from everyagent.runner.uplink import Uplink
from everyagent.runtime.limits import ProcessLimits
from everyagent.sessions.launch.isolation import IsolationPolicy

logger = get_logger(__name__)

#: A runner that stops waits so long for the daemon to take what is in the spool.
_LAST_SECONDS = 5.0


class RunnerSettings(Struct, frozen=True, kw_only=True):
    """Sessions work in `directory` or below it. `folder` is the runner's own; `data_dir` has the agents.

    With more than `spool_bytes` in the spool, agents are not read.
    """

    url: str
    directory: Path
    folder: Path
    data_dir: Path
    labels: dict[str, str] = {}
    isolation: IsolationChoice = "auto"
    spool_bytes: int = 256 << 20


class Host:
    """`instance` is that of this process."""

    def __init__(
        self,
        settings: RunnerSettings,
        adapters: Sequence[Adapter],
        spool: Spool,
        uplink: Uplink,
        spawn: Callable[..., None],
        instance: str,
    ) -> None:
        self._settings = settings
        self._adapters: Mapping[str, Adapter] = {adapter.name: adapter for adapter in adapters}
        self._spool = spool
        self._uplink = uplink
        self._spawn = spawn
        self._instance = instance
        floor = "namespace" if settings.isolation == "namespace" else "none"
        self._isolation = IsolationPolicy(default=settings.isolation, floor=floor)
        self._room = Room(spool, settings.spool_bytes)
        self._left = asyncio.Event()
        self._scratch = RunnerScratch(settings.folder / "scratch", spool)
        self._scratch.sweep()
        self._forgotten: set[str] = set()
        self._conversations: dict[tuple[str, int], HostedConversation] = {}
        for spooled in spool.conversations():
            with _contained(conversation := self._hold(spooled)):
                conversation.lost("The runner was restarted, and the agent ended with it.")

    async def hello(self) -> wire.Hello:
        installed = [name for name, adapter in self._adapters.items() if await _installed(adapter)]
        held: list[wire.Held] = []
        for conversation in [*self._conversations.values()]:
            with _contained(conversation):
                held.append(conversation.held())
        return wire.Hello(
            instance=self._instance,
            version=__version__,
            labels=self._settings.labels,
            agents=installed,
            held=held,
            scratch=self._scratch.sessions(),
        )

    def take(self, message: wire.Command | wire.Welcome | wire.Forget) -> None:
        """An exception, of a full disk for example, ends the conversation that it strikes."""
        if isinstance(message, wire.Forget):
            self._forget(message.sessions)
            return
        if isinstance(message, wire.Welcome):
            for position in message.positions:
                if conversation := self._conversations.get((position.session_id, position.epoch)):
                    with _contained(conversation):
                        conversation.stored(position.sequence)
            return
        place = (message.session_id, message.epoch)
        conversation = self._conversations.get(place)
        if conversation is None:
            if not isinstance(message.action, wire.Open):
                return
            conversation = self._hold(SpooledConversation(*place, last=0, command=0, ended=False), new=True)
        with _contained(conversation):
            conversation.take(message)

    async def close(self) -> None:
        """End all agents. What they sent is in the spool, and is sent now if the daemon is there."""
        for conversation in [*self._conversations.values()]:
            with _contained(conversation):
                await conversation.close(force=True)
        with anyio.move_on_after(_LAST_SECONDS):
            while self._conversations:
                await self._left.wait()
                self._left.clear()

    def _hold(self, spooled: SpooledConversation, *, new: bool = False) -> HostedConversation:
        conversation = self._conversations[spooled.session_id, spooled.epoch] = HostedConversation(
            spooled,
            spool=self._spool,
            room=self._room,
            uplink=self._uplink,
            spawn=self._spawn,
            launched=self._launched,
            gone=self._gone,
            new=new,
        )
        return conversation

    def _gone(self, conversation: HostedConversation) -> None:
        self._conversations.pop((conversation.session_id, conversation.epoch), None)
        self._left.set()
        if conversation.session_id in self._forgotten:
            self._forget([conversation.session_id])

    def _forget(self, sessions: Sequence[str]) -> None:
        """Remove the private folders of sessions that have ended, when their agents have ended too."""
        running = {session_id for session_id, _ in self._conversations}
        self._forgotten = (self._forgotten | {*sessions}) & running
        for session_id in sessions:
            if session_id not in running:
                self._spawn(self._remove_folder, session_id)

    async def _remove_folder(self, session_id: str) -> None:
        try:
            await self._scratch.remove(session_id)
        except Exception:
            logger.exception("a folder was not removed; it is tried again after the next connect", session=session_id)

    async def _launched(self, session_id: str, epoch: int, launch: wire.RemoteLaunch) -> tuple[Adapter, Launch]:
        """The adapter and the launch on this machine. Raises `AgentFailed`."""
        adapter = self._adapters.get(launch.agent)
        if adapter is None:
            raise AgentFailed(f"The runner has no agent {launch.agent!r}. It has: {', '.join(self._adapters)}.")
        directory, scratch = self._directory(launch.directory), self._scratch.make(session_id)
        limits = launch.limits
        return adapter, Launch(
            session_id=session_id,
            directory=directory,
            scratch=scratch,
            **launch.options(),
            tools_url=f"{self._uplink.url}/v1/sessions/{session_id}/mcp" if launch.tools_token else None,
            hosts=None if launch.hosts is None else tuple(launch.hosts),
            isolation=await self._level(launch.isolation),
            limits=ProcessLimits(limits, (directory, scratch) if limits.disk else ()),
            confined_to=self._settings.directory.resolve() if launch.confined else None,
            hidden=(self._settings.data_dir.resolve(), self._settings.folder.resolve()),
        )

    async def _level(self, asked: Isolation | None) -> Isolation:
        level = await self._isolation.at_start(asked)
        if asked is not None and level != asked:
            raise AgentFailed(
                f"The runner was started with --isolation {self._settings.isolation}, and {asked!r} is weaker. Create "
                "the session without `isolation`, or on another runner."
            )
        return level

    def _directory(self, asked: str) -> Path:
        root = self._settings.directory.resolve()
        directory = (root / asked).resolve()
        if not directory.is_relative_to(root) or not directory.is_dir():
            raise AgentFailed(
                f"The runner has no directory {asked!r} in {str(root)!r}, where its sessions work. Create the session "
                "with another `directory`, or start the runner with another --directory."
            )
        return directory


async def _installed(adapter: Adapter) -> bool:
    try:
        return (await adapter.state()).installed
    except Exception:
        logger.exception("an agent could not be examined, so it is not offered", agent=adapter.name)
        return False


@contextmanager
def _contained(conversation: HostedConversation) -> Generator[None]:
    try:
        yield
    except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
        conversation.fail(fault)
