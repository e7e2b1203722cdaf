"""Where agents' hooks knock: a private socket, one for all sessions of an adapter. Each is known by a token.

`knock.py` is the other end. What is decided is the conversation's business; here it is only asked and told.
"""

import os
import secrets
import shutil
import socket
import struct
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from everyagent.agents.supervision import TaskSupervisor
from everyagent.logs import get_logger

logger = get_logger(__name__)

HEAD_LIMIT = 256
WISH_LIMIT = 64 * 1024 * 1024
READ_LIMIT = 30.0
#: More often than `knock.py` takes the daemon for gone.
HEARTBEAT = 10.0

#: What an agent wants to do, in its own words, to why it must not; None if it may. Cancelled when nobody waits.
Answerer: TypeAlias = Callable[[bytes], Awaitable[str | None]]


class Gate:
    """Opened when the first session needs it, in a folder that only this user can enter.

    If somebody tidies that folder away, sessions that start then get another one.
    """

    def __init__(self, tasks: TaskSupervisor) -> None:
        self._tasks = tasks
        self._opening = anyio.Lock()
        self._folders: list[Path] = []
        self._serving: list[anyio.CancelScope] = []
        self._answerers: dict[str, Answerer] = {}

    async def open(self) -> Path:
        """The socket's path, which is short: systems allow about a hundred characters."""
        async with self._opening:
            if not self._folders or not (self._folders[-1] / "gate").exists():
                folder = Path(tempfile.mkdtemp(prefix="everyagent-"))
                self._folders.append(folder)
                listener = await anyio.create_unix_listener(folder / "gate", mode=0o600)
                self._tasks.start_soon(self._serve, listener)
            return self._folders[-1] / "gate"

    def admit(self, answerer: Answerer) -> str:
        """The token by which hooks of this session are known from now on."""
        token = secrets.token_urlsafe(32)
        self._answerers[token] = answerer
        return token

    def dismiss(self, token: str) -> None:
        self._answerers.pop(token, None)

    async def close(self) -> None:
        for scope in self._serving:
            scope.cancel()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    async def _serve(self, listener: Listener[SocketStream]) -> None:
        with anyio.CancelScope() as scope:
            self._serving.append(scope)
            async with listener:
                await listener.serve(self._answer)

    async def _answer(self, stream: SocketStream) -> None:
        """Whatever a stranger does at the gate, it stays open for the others."""
        async with stream:
            try:
                await self._attend(stream)
            except Exception as problem:  # noqa: BLE001 - a daemon does not fall over a knock
                logger.info("a hook was not answered", problem=repr(problem))

    async def _attend(self, stream: SocketStream) -> None:
        if not _is_us(stream):
            return
        token, wish = await _everything(stream)
        answerer = self._answerers.get(token)
        if answerer is None:
            await stream.send(b"reject This session has no business here any more.")
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_alive, stream)
            why = await answerer(wish)
            await stream.send(b"allow" if why is None else b"reject " + why.encode())
            tasks.cancel_scope.cancel()


async def _everything(stream: SocketStream) -> tuple[str, bytes]:
    """A line with the token and the length of what follows, and that; within bounds of size and time."""
    with anyio.fail_after(READ_LIMIT):
        heard = BufferedByteReceiveStream(stream)
        token, length = (await heard.receive_until(b"\n", HEAD_LIMIT)).decode().split()
        if not 0 <= int(length) <= WISH_LIMIT:
            raise ValueError(f"a wish of {length} bytes")
        return token, await heard.receive_exactly(int(length))


async def _keep_alive(stream: SocketStream) -> None:
    """Also how it is found out that nobody waits for the answer any more."""
    while True:
        await stream.send(b"\n")
        await anyio.sleep(HEARTBEAT)


def _is_us(stream: SocketStream) -> bool:
    """Where the system tells who is on the other side, only this user is let in; the folder sees to the rest."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    other = stream.extra(SocketAttribute.raw_socket).getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", other)[1] == os.geteuid()
