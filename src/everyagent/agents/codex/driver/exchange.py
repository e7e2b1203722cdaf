"""Requests of one conversation to its app-server, each matched with its answer. Used by `driver.py`."""

import asyncio
from collections.abc import Callable

import anyio
from msgspec import Raw

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.codex.decode.effects import RpcReply
from everyagent.agents.codex.driver.server import REPLY_LIMIT, AppServer, CodexServerSession
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.refusals import CodexRefused, Gone
from everyagent.agents.codex.protocol.wire import Id
from everyagent.errors import AgentFailed


class RpcExchange:
    """`sent` has the method of each open request, for the decoder. Frames that are sent are `put` in the inbox."""

    def __init__(self, sent: dict[Id, str], put: Callable[[DecodedFrame], None]) -> None:
        self._sent = sent
        self._put = put
        self._line: tuple[AppServer, CodexServerSession] | None = None
        self._replies: dict[Id, asyncio.Future[RpcReply | None]] = {}

    def open(self, server: AppServer, session: CodexServerSession) -> None:
        self._line = (server, session)

    def close(self) -> None:
        """Refuses new requests; answers to earlier ones are still accepted."""
        self._line = None

    def give_up(self) -> None:
        """Fails all open requests."""
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_result(None)

    def answered(self, reply: RpcReply) -> None:
        waiting = self._replies.get(reply.id)
        if waiting and not waiting.done():
            waiting.set_result(reply)

    async def request(self, method: str, params: object, traceparent: str | None = None) -> Raw:
        """The result. Raises `CodexRefused`, `Gone`, or `AgentFailed` if there is no answer in time."""
        id = self._next_id(method)
        reply = self._replies[id] = asyncio.get_running_loop().create_future()
        try:
            await self.write(rpc.request(id, method, params, traceparent))
            with anyio.fail_after(REPLY_LIMIT):
                answered = await reply
        except TimeoutError:
            raise AgentFailed(f"Codex did not answer {method} within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._replies[id]
        if answered is None:
            raise Gone
        if answered.error is not None:
            raise CodexRefused(method, answered.error)
        return answered.result

    async def send(self, method: str, params: object) -> None:
        """Sends a request without waiting for its answer."""
        await self.write(rpc.request(self._next_id(method), method, params))

    async def write(self, frame: bytes) -> None:
        server, _ = self._open_line()
        self._put(DecodedFrame(Frame("to_agent", frame[:-1]), ()))
        await server.write(frame)

    def _next_id(self, method: str) -> Id:
        server, session = self._open_line()
        id = server.request_id(session)
        self._sent[id] = method
        return id

    def _open_line(self) -> tuple[AppServer, CodexServerSession]:
        if self._line is None:
            raise Gone
        return self._line
