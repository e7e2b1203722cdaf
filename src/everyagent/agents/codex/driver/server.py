"""One Codex app-server process and the sessions on it: requests of its own, and messages routed to sessions."""

import asyncio
import itertools
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Self

import anyio
import msgspec
from msgspec import Raw

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.codex.driver import encode
from everyagent.agents.codex.policy.policy_hooks import PendingHook
from everyagent.agents.codex.protocol import rpc, wire
from everyagent.agents.codex.protocol.refusals import CodexRefused
from everyagent.agents.codex.protocol.routing import ThreadRouter
from everyagent.agents.codex.protocol.rpc import RpcMessage
from everyagent.agents.codex.protocol.wire import Id
from everyagent.agents.shared_server import ServerSession, SharedServer
from everyagent.agents.shared_servers import ServerKey
from everyagent.agents.supervision import TaskSupervisor
from everyagent.agents.unparsed import BROKEN
from everyagent.errors import AgentFailed
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

#: How long Codex may take to answer a request; a busy machine needs seconds to start it.
REPLY_LIMIT = 30.0

_responses = msgspec.json.Decoder(wire.CodexResponse)

#: The messages in a session's inbox; hooks do not come from the app-server.
CodexMessage = RpcMessage | PendingHook
CodexServerSession = ServerSession[CodexMessage]


class AppServer(SharedServer[CodexMessage]):
    title = "Codex's app-server"

    def __init__(self, process: Process, tasks: TaskSupervisor) -> None:
        super().__init__(process, tasks)
        self._router: ThreadRouter[CodexServerSession] = ThreadRouter(self.sessions)
        self._own: dict[Id, asyncio.Future[wire.CodexResponse]] = {}
        self._ids = itertools.count(1)
        self._greeting: list[Frame] = []

    @classmethod
    async def ready(cls, key: ServerKey, tasks: TaskSupervisor, reaper: Reaper) -> Self:
        environment = dict(key.environment)
        process = await Process.start(
            key.argv,
            directory=Path("/"),
            environment=environment,
            reaper=reaper,
            wall=key.wall,
            limits=key.limits,
        )
        return await cls(process, tasks).started()

    # -- sessions -----------------------------------------------------------------------------------------------

    def join(self, session: CodexServerSession) -> None:
        """The first session also gets the frames of the greeting."""
        super().join(session)
        greeting, self._greeting = self._greeting, []
        for frame in greeting:
            session.put(DecodedFrame(frame, ()))

    def _forget(self, session: CodexServerSession) -> None:
        super()._forget(session)
        self._router.leave(session)

    def request_id(self, session: CodexServerSession) -> Id:
        """An id for a request of the session, which gets the answer. Codex's own ids are numbers."""
        id = self._next_id()
        self._router.ask(id, session)
        return id

    async def write(self, frame: bytes) -> None:
        await self._process.write(frame)

    # -- requests of no session ---------------------------------------------------------------------------------

    async def _greet(self) -> None:
        await self.request("initialize", encode.initialize(version("everyagent")), kept=True)
        await self._send(rpc.notification("initialized"), kept=True)

    async def request(self, method: str, params: object, *, kept: bool = False) -> Raw:
        """The result. `kept`: the first session gets the request among its frames. Raises `AgentFailed`."""
        id = self._next_id()
        reply = self._own[id] = asyncio.get_running_loop().create_future()
        try:
            await self._send(rpc.request(id, method, params), kept=kept)
            with anyio.fail_after(REPLY_LIMIT):
                response = await reply
        except TimeoutError:
            raise AgentFailed(f"Codex did not answer {method} within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._own[id]
        if response.error is not None:
            raise CodexRefused(method, response.error)
        return response.result

    def _next_id(self) -> Id:
        return f"everyagent-{next(self._ids)}"

    async def _send(self, frame: bytes, *, kept: bool) -> None:
        if kept:
            self._greeting.append(Frame("to_agent", frame[:-1]))
        await self._process.write(frame)

    # -- messages -----------------------------------------------------------------------------------------------

    async def _read(self, lines: Sequence[Line]) -> None:
        receivers: dict[int, CodexServerSession] = {}
        for line in lines:
            if line.body:
                message = rpc.read(line)
                delivered = self._deliver(message)
                receivers |= delivered
                if message.method and message.id is not None and not delivered:
                    await self._process.write(rpc.refusal(message.id, message.method))
        for session in receivers.values():
            await session.room()

    def _deliver(self, message: RpcMessage) -> dict[int, CodexServerSession]:
        if message.method is None and message.id in self._own:
            self._answered(message.id, message.body)
            return {}
        receivers: dict[int, CodexServerSession] = {}
        for session, each in self._router.route(message):
            session.put(each)
            receivers[id(session)] = session
        return receivers

    def _answered(self, id: Id, body: bytes) -> None:
        if not self.sessions:
            self._greeting.append(Frame("from_agent", body))
        waiting = self._own[id]
        if waiting.done():
            return
        try:
            waiting.set_result(_responses.decode(body))
        except BROKEN as problem:
            waiting.set_exception(AgentFailed(f"Codex's answer cannot be read: {problem}."))

    async def _release(self) -> None:
        ended = (self.death and self.death.message) or "Codex ended."
        for waiting in self._own.values():
            if not waiting.done():
                waiting.set_exception(AgentFailed(ended))
