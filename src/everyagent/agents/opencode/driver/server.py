"""One OpenCode server process and the sessions on it: event streams of directories, routed to sessions."""

import asyncio
import re
import secrets
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self
from weakref import WeakValueDictionary

import anyio

from everyagent.agents.opencode.protocol.feed import EventFeed
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import Rest
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.agents.shared_server import ServerSession, SharedServer
from everyagent.agents.shared_servers import ServerKey
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.framing import Line
from everyagent.runtime.ports import free_port
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

START_LIMIT = 40.0
#: How long OpenCode may take to stop its work before it is killed.
DISPOSE_LIMIT = 3.0
PASSWORD_VARIABLE = "OPENCODE_SERVER_PASSWORD"
#: The server's name, by which its plugin reports itself: its process id is another one behind a wall.
NAME_VARIABLE = "EVERYAGENT_SERVER_NAME"
#: Put in the inboxes of a directory's sessions when its event stream is back after it was lost.
STREAM_LOST = NativeEvent(b"", "everyagent.stream_lost")
_LISTENING = re.compile(rb"listening on (http://[\w.:]+)")

logger = get_logger(__name__)

OpencodeServerSession = ServerSession[NativeEvent]


class OpencodeServer(SharedServer[NativeEvent]):
    title = "OpenCode's server"
    grace = 1.0

    def __init__(self, process: Process, tasks: TaskSupervisor, password: str, name: str) -> None:
        super().__init__(process, tasks)
        self.name = name
        self.router: SessionRouter[OpencodeServerSession] = SessionRouter()
        self._password = password
        self._feeds: dict[str, EventFeed] = {}
        #: Held while what runs in a directory is stopped, so that no session joins there meanwhile.
        self._directories: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._rest: Rest | None = None
        self._listening = anyio.Event()

    @classmethod
    async def ready(
        cls, key: ServerKey, tasks: TaskSupervisor, reaper: Reaper, network: socket.socket | None = None
    ) -> Self:
        password = secrets.token_urlsafe(24)
        # OpenCode's default port is the one that people expect their own server on.
        argv = (*key.argv, "--port", str(free_port()))
        name = secrets.token_hex(8)
        environment = {**dict(key.environment), PASSWORD_VARIABLE: password, NAME_VARIABLE: name}
        process = await Process.start(
            argv,
            directory=Path("/"),
            environment=environment,
            reaper=reaper,
            wall=key.wall,
            limits=key.limits,
            network=network,
        )
        return await cls(process, tasks, password, name).started()

    @property
    def rest(self) -> Rest:
        if self._rest is None:
            raise AgentFailed("OpenCode's server does not take requests yet.")
        return self._rest

    # -- sessions -----------------------------------------------------------------------------------------------

    async def leave(self, session: OpencodeServerSession, *, force: bool) -> None:
        """The last session of a directory ends what runs there."""
        await super().leave(session, force=force)
        if self.sessions:
            await self._leave_directory(session.directory)

    def _forget(self, session: OpencodeServerSession) -> None:
        super()._forget(session)
        self.router.leave(session)

    async def listen(self, directory: str) -> None:
        """Returns when the events of a directory are received. Raises `AgentFailed`."""
        async with self._directories.setdefault(directory, asyncio.Lock()):
            feed = self._feeds.get(directory)
            if feed is None:
                feed = self._feeds[directory] = self._feed(directory)
                self._tasks.start_soon(feed.run, on_fault=self.fail)
        if not await feed.opened():
            raise AgentFailed(f"OpenCode gives no event stream for the directory {directory}.")

    def _feed(self, directory: str) -> EventFeed:
        return EventFeed(
            self.rest,
            directory,
            deliver=partial(self._deliver, directory),
            missed=partial(self._missed, directory),
            gone=partial(self.stop, force=True, wedged=True),
        )

    async def _deliver(self, directory: str, batch: list[NativeEvent]) -> None:
        receivers: dict[int, OpencodeServerSession] = {}
        for event in batch:
            if event.session is None:
                routed = [(session, event) for session in self._in(directory)]
            else:
                routed = self.router.route(event)
            for session, each in routed:
                session.put(each)
                receivers[id(session)] = session
        for session in receivers.values():
            await session.room()

    def _missed(self, directory: str) -> None:
        for session in self._in(directory):
            session.put(STREAM_LOST)

    def _in(self, directory: str) -> list[OpencodeServerSession]:
        return [session for session in self.sessions if session.directory == directory]

    async def _leave_directory(self, directory: str) -> None:
        async with self._directories.setdefault(directory, asyncio.Lock()):
            if self._in(directory):
                return
            feed = self._feeds.pop(directory, None)
            if feed:
                feed.close()
            await self._dispose("/instance/dispose", directory)

    async def _dispose(self, path: str, directory: str) -> None:
        """Ends the commands that OpenCode runs; they would outlive it until they are found."""
        try:
            await self.rest.ask("POST", path, directory, limit=DISPOSE_LIMIT)
        except AgentFailed as failure:
            logger.info("opencode did not stop its work", error=failure.detail)

    # -- the process --------------------------------------------------------------------------------------------

    async def _greet(self) -> None:
        with anyio.move_on_after(START_LIMIT):
            await self._listening.wait()
        if self._rest is None:
            raise AgentFailed(self._process.last_error_line or "It does not listen.")

    async def stop(self, *, force: bool = False, wedged: bool = False) -> None:
        self.open = False
        if not force and self._rest:
            await self._dispose("/global/dispose", "/")
        await super().stop(force=force, wedged=wedged)

    async def _read(self, lines: Sequence[Line]) -> None:
        for line in lines:
            found = _LISTENING.search(line.body)
            if found and self._rest is None:
                self._rest = Rest(found[1].decode(), self._password)
                self._listening.set()

    async def _release(self) -> None:
        self._listening.set()
        for feed in self._feeds.values():
            feed.close()
        if self._rest:
            await self._rest.close()
