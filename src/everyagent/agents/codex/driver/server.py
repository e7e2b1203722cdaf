"""One app-server process and the sessions on it. It reads for all of them; its death is told to each."""

import asyncio
import itertools
from contextlib import aclosing
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import anyio
import msgspec
from msgspec import Raw

from everyagent.agents.adapter import Death, Frame, Heard
from everyagent.agents.codex.driver import encode
from everyagent.agents.codex.protocol import rpc, wire
from everyagent.agents.codex.protocol.routing import Router
from everyagent.agents.codex.protocol.rpc import Said
from everyagent.agents.codex.protocol.wire import Id
from everyagent.agents.shared_servers import Kind
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

#: How long Codex may take to answer a request; a busy machine needs seconds to start it.
REPLY_LIMIT = 30.0
#: One that ended by itself has said why; how long that may take to be read.
LAST_WORDS_LIMIT = 2.0

_responses = msgspec.json.Decoder(wire.Response)


class Resident(Protocol):
    """A session on an app-server."""

    def put(self, said: Said | Heard) -> None:
        """Take it in, at once."""
        ...

    async def room(self) -> None:
        """Returns when it can take more."""
        ...

    def lose(self, death: Death) -> None:
        """The app-server is gone; nothing comes after this."""
        ...


class AppServer:
    """`run` is a task of its own. `open`: it can take one more session.

    `over` is set when nothing is left of it; then `death` says how it ended.
    """

    def __init__(self, process: Process) -> None:
        self.open = True
        self.over = anyio.Event()
        self.death: Death | None = None
        self._process = process
        self._router: Router[Resident] = Router()
        self._own: dict[Id, asyncio.Future[wire.Response]] = {}
        self._ids = itertools.count(1)
        self._early: list[Frame] = []
        self._stopping = False

    @classmethod
    async def ready(cls, kind: Kind, tasks: TaskSupervisor, reaper: Reaper) -> "AppServer":
        """A process of its own that has been greeted; `tasks` reads it."""
        environment = dict(kind.environment)
        server = cls(await Process.start(kind.argv, directory=Path("/"), environment=environment, reaper=reaper))
        tasks.start_soon(server.run)
        try:
            await server.greet()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await server.stop(force=True)
            raise
        return server

    @property
    def residents(self) -> list[Resident]:
        return self._router.owners

    # -- sessions on it -----------------------------------------------------------------------------------------

    def join(self, resident: Resident) -> None:
        """The first one also hears how the process was greeted."""
        self._router.join(resident)
        early, self._early = self._early, []
        for frame in early:
            resident.put(Heard(frame, ()))

    async def leave(self, resident: Resident, *, force: bool) -> None:
        """The last one to leave takes the process with it."""
        if resident in self.residents:
            self._router.leave(resident)
        if not self.residents:
            await self.stop(force=force)

    def request_id(self, resident: Resident) -> Id:
        """For a request of the resident's, whose answer it will be given. Codex's own ids are numbers."""
        id = f"everyagent-{next(self._ids)}"
        self._router.ask(id, resident)
        return id

    async def write(self, frame: bytes) -> None:
        await self._process.write(frame)

    # -- its own conversation -----------------------------------------------------------------------------------

    async def greet(self) -> None:
        try:
            await self.request("initialize", encode.initialize(version("everyagent")), kept=True)
            await self._tell(rpc.notification("initialized"), kept=True)
        except AgentFailed as failure:
            with anyio.move_on_after(LAST_WORDS_LIMIT):
                await self.over.wait()
            why = (self.death and self.death.message) or failure.detail
            raise AgentFailed(f"Codex's app-server did not start. {why}") from failure

    async def request(self, method: str, params: object, *, kept: bool = False) -> Raw:
        """A question that is no session's. `kept`: the first session shall see it among its frames."""
        id = f"everyagent-{next(self._ids)}"
        reply = self._own[id] = asyncio.get_running_loop().create_future()
        try:
            await self._tell(rpc.request(id, method, params), kept=kept)
            with anyio.fail_after(REPLY_LIMIT):
                response = await reply
        except TimeoutError:
            raise AgentFailed(f"Codex did not answer {method} within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._own[id]
        if response.error:
            raise AgentFailed(f"Codex refused {method}: {response.error.message}")
        return response.result

    async def _tell(self, frame: bytes, *, kept: bool) -> None:
        if kept:
            self._early.append(Frame("to_agent", frame[:-1]))
        await self._process.write(frame)

    # -- the process --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            self._stopping = True
            raise
        finally:
            self.open = False
            death = self.death = await self._end()
            for resident in list(self.residents):
                self._router.leave(resident)
                resident.lose(death)
            for waiting in self._own.values():
                if not waiting.done():
                    waiting.set_exception(AgentFailed(death.message or "Codex ended."))
            self.over.set()

    async def stop(self, *, force: bool = False, wedged: bool = False) -> None:
        """`wedged`: it does not answer any more, which nobody on it has expected."""
        self.open = False
        self._stopping = not wedged
        await (self._process.stop(0) if force else self._process.stop())
        await self.over.wait()

    async def _listen(self) -> None:
        async with aclosing(self._process.lines()) as batches:
            async for lines in batches:
                heard: dict[int, Resident] = {}
                for line in lines:
                    if line.body:
                        said = rpc.read(line)
                        delivered = self._deliver(said)
                        heard |= delivered
                        if said.method and said.id is not None and not delivered:
                            await self._process.write(rpc.refusal(said.id, said.method))
                for resident in heard.values():
                    await resident.room()

    def _deliver(self, said: Said) -> dict[int, Resident]:
        if said.method is None and said.id in self._own:
            self._answered(said)
            return {}
        heard: dict[int, Resident] = {}
        for resident, each in self._router.route(said):
            resident.put(each)
            heard[id(resident)] = resident
        return heard

    def _answered(self, said: Said) -> None:
        response = _responses.decode(said.body)
        if not self.residents:
            self._early.append(Frame("from_agent", said.body))
        waiting = self._own[response.id]
        if not waiting.done():
            waiting.set_result(response)

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
            message=f"Codex's app-server ended with {exit}{f': {words}' if words else '.'}",
        )
