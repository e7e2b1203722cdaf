"""One OpenCode server and the sessions on it. It listens for all of them; its death is told to each."""

import re
import secrets
import socket
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from everyagent.agents.adapter import Death
from everyagent.agents.opencode.protocol.feed import Feed
from everyagent.agents.opencode.protocol.native_event import Said
from everyagent.agents.opencode.protocol.rest import Rest
from everyagent.agents.opencode.protocol.routing import Router
from everyagent.agents.shared_servers import Kind
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

START_LIMIT = 40.0
#: How long it may take to stop what it runs, before it is killed with it.
DISPOSE_LIMIT = 3.0
PASSWORD_VARIABLE = "OPENCODE_SERVER_PASSWORD"
_LISTENING = re.compile(rb"listening on (http://[\w.:]+)")

logger = get_logger(__name__)


class Resident(Protocol):
    """A session on a server."""

    @property
    def directory(self) -> str: ...

    def put(self, said: Said) -> None:
        """Take it in, at once."""
        ...

    async def room(self) -> None:
        """Returns when it can take more."""
        ...

    def missed(self) -> None:
        """What is put next may not follow from what was put before."""
        ...

    def lose(self, death: Death) -> None:
        """The server is gone; nothing comes after this."""
        ...


class OpencodeServer:
    """`run` is a task of its own. `open`: it can take one more session. `over` is set when nothing is left of it."""

    def __init__(self, process: Process, password: str, tasks: TaskSupervisor) -> None:
        self.open = True
        self.pid = process.pid
        self.over = anyio.Event()
        self.residents: list[Resident] = []
        self.router: Router[Resident] = Router()
        self._process = process
        self._password = password
        self._tasks = tasks
        self._feeds: dict[str, Feed] = {}
        self._doors: dict[str, anyio.Lock] = {}  # nobody comes into a directory while its work is put down
        self._rest: Rest | None = None
        self._listening = anyio.Event()
        self._stopping = False

    @classmethod
    async def ready(cls, kind: Kind, tasks: TaskSupervisor, reaper: Reaper) -> "OpencodeServer":
        """A process of its own that takes requests."""
        password = secrets.token_urlsafe(24)
        argv = (*kind.argv, "--port", str(_free_port()))
        environment = {**dict(kind.environment), PASSWORD_VARIABLE: password}
        process = await Process.start(argv, directory=Path("/"), environment=environment, reaper=reaper)
        server = cls(process, password, tasks)
        tasks.start_soon(server.run)
        try:
            with anyio.move_on_after(START_LIMIT):
                await server._listening.wait()
            if server._rest is None:
                raise AgentFailed(f"OpenCode's server did not start. {process.last_words or ''}".strip())
        except BaseException:
            with anyio.CancelScope(shield=True):
                await server.stop(force=True)
            raise
        return server

    # -- sessions on it -----------------------------------------------------------------------------------------

    def join(self, resident: Resident) -> None:
        self.residents.append(resident)

    async def leave(self, resident: Resident, *, force: bool) -> None:
        """The last one to leave takes the process with it; the last one of a directory what runs there."""
        if resident in self.residents:
            self.residents.remove(resident)
        self.router.leave(resident)
        if not self.residents:
            await self.stop(force=force)
        else:
            await self._leave_directory(resident.directory)

    async def listen(self, directory: str) -> None:
        """Returns when all that happens in a directory is heard. Raises `AgentFailed`."""
        async with self._doors.setdefault(directory, anyio.Lock()):
            feed = self._feeds.get(directory)
            if feed is None:
                feed = self._feeds[directory] = self._feed(directory)
                self._tasks.start_soon(feed.run)
        if not await feed.opened():
            raise AgentFailed(f"OpenCode tells nothing of the directory {directory}.")

    def _feed(self, directory: str) -> Feed:
        return Feed(
            self.rest,
            directory,
            deliver=partial(self._deliver, directory),
            missed=partial(self._missed, directory),
            gone=partial(self.stop, force=True, wedged=True),
        )

    @property
    def rest(self) -> Rest:
        if self._rest is None:
            raise AgentFailed("OpenCode's server does not take requests yet.")
        return self._rest

    async def _deliver(self, directory: str, batch: list[Said]) -> None:
        heard: dict[int, Resident] = {}
        for said in batch:
            if said.session is None:
                routed = [(each, said) for each in self.residents if each.directory == directory]
            else:
                routed = self.router.route(said)
            for resident, each in routed:
                resident.put(each)
                heard[id(resident)] = resident
        for resident in heard.values():
            await resident.room()

    def _missed(self, directory: str) -> None:
        for resident in self.residents:
            if resident.directory == directory:
                resident.missed()

    async def _leave_directory(self, directory: str) -> None:
        async with self._doors.setdefault(directory, anyio.Lock()):
            if any(each.directory == directory for each in self.residents):
                return
            feed = self._feeds.pop(directory, None)
            if feed:
                feed.close()
            await self._dispose("/instance/dispose", directory)

    async def _dispose(self, path: str, directory: str) -> None:
        """Its commands would outlive it otherwise, if only until they are found."""
        try:
            await self.rest.ask("POST", path, directory, limit=DISPOSE_LIMIT)
        except AgentFailed as failure:
            logger.info("opencode did not put its work down", error=failure.detail)

    # -- the process --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            await self._read()
        except anyio.get_cancelled_exc_class():
            self._stopping = True
            raise
        finally:
            self.open = False
            for feed in self._feeds.values():
                feed.close()
            death = await self._end()
            for resident in list(self.residents):
                self.residents.remove(resident)
                resident.lose(death)
            self._listening.set()
            self.over.set()
            if self._rest:
                with anyio.CancelScope(shield=True):
                    await self._rest.close()

    async def stop(self, *, force: bool = False, wedged: bool = False) -> None:
        """`wedged`: it does not answer any more, which nobody on it has expected."""
        self.open = False
        self._stopping = not wedged
        if not force and self._rest:
            await self._dispose("/global/dispose", "/")
        await (self._process.stop(0) if force else self._process.stop(1))
        await self.over.wait()

    async def _read(self) -> None:
        async with aclosing(self._process.lines()) as batches:
            async for lines in batches:
                for line in lines:
                    found = _LISTENING.search(line.body)
                    if found and self._rest is None:
                        self._rest = Rest(found[1].decode(), self._password)
                        self._listening.set()

    async def _end(self) -> Death:
        """The process may have ended by itself; what it started goes with it in any case."""
        try:
            exit = await self._process.stop(0)
        except AgentFailed as failure:
            return Death(expected=self._stopping, stderr=self._process.stderr, message=failure.detail)
        words = self._process.last_words
        return Death(
            expected=self._stopping,
            exit_code=exit.code,
            signal=exit.signal,
            stderr=self._process.stderr,
            message=f"OpenCode's server ended with {exit}{f': {words}' if words else '.'}",
        )


def _free_port() -> int:
    """Left to itself, OpenCode takes the port that people expect their own server on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
