"""What one conversation asks of its app-server, and what it is answered. Used by `driver.py`."""

import asyncio
from collections.abc import Callable

import anyio
from msgspec import Raw

from everyagent.agents.adapter import Frame, Heard
from everyagent.agents.codex.driver.effects import Reply
from everyagent.agents.codex.driver.refusals import Gone, Refused
from everyagent.agents.codex.driver.server import REPLY_LIMIT, AppServer, Resident
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.wire import Id
from everyagent.errors import AgentFailed


class Exchange:
    """`sent` remembers the method of each request for who decodes its answer. What we say is `put` among the frames."""

    def __init__(self, sent: dict[Id, str], put: Callable[[Heard], None]) -> None:
        self._sent = sent
        self._put = put
        self._line: tuple[AppServer, Resident] | None = None
        self._replies: dict[Id, asyncio.Future[Reply | None]] = {}

    def open(self, server: AppServer, resident: Resident) -> None:
        self._line = (server, resident)

    def close(self) -> None:
        """Nothing can be said any more; answers may still come."""
        self._line = None

    def give_up(self) -> None:
        """No answer will come any more."""
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_result(None)

    def answered(self, reply: Reply) -> None:
        waiting = self._replies.get(reply.id)
        if waiting and not waiting.done():
            waiting.set_result(reply)

    async def request(self, method: str, params: object) -> Raw:
        """Its result. Raises `Refused`, `Gone`, or `AgentFailed` where no answer comes in time."""
        id = self._next_id(method)
        reply = self._replies[id] = asyncio.get_running_loop().create_future()
        try:
            await self.tell(rpc.request(id, method, params))
            with anyio.fail_after(REPLY_LIMIT):
                answered = await reply
        except TimeoutError:
            raise AgentFailed(f"Codex did not answer {method} within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._replies[id]
        if answered is None:
            raise Gone
        if answered.error:
            raise Refused(method, answered.error)
        return answered.result

    async def send(self, method: str, params: object) -> None:
        """A request whose answer nobody waits for."""
        await self.tell(rpc.request(self._next_id(method), method, params))

    async def tell(self, frame: bytes) -> None:
        server, _ = self._open_line()
        self._put(Heard(Frame("to_agent", frame[:-1]), ()))
        await server.write(frame)

    def _next_id(self, method: str) -> Id:
        server, resident = self._open_line()
        id = server.request_id(resident)
        self._sent[id] = method
        return id

    def _open_line(self) -> tuple[AppServer, Resident]:
        if self._line is None:
            raise Gone
        return self._line
