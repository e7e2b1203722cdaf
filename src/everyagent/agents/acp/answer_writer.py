"""Writes answers to an ACP agent's requests in a task of its own, so that an agent that does not read is still read."""

from collections import deque
from collections.abc import Awaitable, Callable

from everyagent.agents.supervision import OnFault, TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.runtime.stdin import PENDING_LIMIT

#: What a waiting frame is counted as, beside its length.
FRAME_BYTES = 512


class AnswerWriter:
    """Keeps the order of the frames. `unread` is called once, if the agent does not take them."""

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        unread: Callable[[AgentFailed], Awaitable[None]],
        tasks: TaskSupervisor,
        on_fault: OnFault,
    ) -> None:
        self._send = send
        self._unread = unread
        self._tasks = tasks
        self._on_fault = on_fault
        self._waiting: deque[bytes] = deque()
        self._held = 0
        self._writing = False
        self._failed = False

    def add(self, frame: bytes) -> None:
        """Frames after a failure are dropped: the agent is being ended."""
        if self._failed:
            return
        self._held += len(frame) + FRAME_BYTES
        if self._held > PENDING_LIMIT:
            self._fail(AgentFailed("The agent does not read its input: too many answers wait to be written."))
            return
        self._waiting.append(frame)
        if not self._writing:
            self._writing = True
            self._tasks.start_soon(self._write, on_fault=self._on_fault)

    async def _write(self) -> None:
        try:
            while self._waiting:
                frame = self._waiting.popleft()
                await self._send(frame)
                self._held -= len(frame) + FRAME_BYTES
        except AgentFailed as failure:
            self._fail(failure)
        finally:
            self._writing = False

    def _fail(self, failure: AgentFailed) -> None:
        if not self._failed:
            self._failed = True
            self._waiting.clear()
            self._tasks.start_soon(self._unread, failure, on_fault=self._on_fault)
