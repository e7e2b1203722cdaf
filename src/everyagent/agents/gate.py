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
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup

from everyagent.logs import get_logger

logger = get_logger(__name__)

WISH_LIMIT = 64 * 1024 * 1024
READ_LIMIT = 30.0
#: More often than `knock.py` takes the daemon for gone.
HEARTBEAT = 10.0

#: What an agent wants to do, in its own words, to why it must not; None if it may. Cancelled when nobody waits.
Answerer: TypeAlias = Callable[[bytes], Awaitable[str | None]]


class Gate:
    """Opened when the first session needs it, in a folder that only this user can enter."""

    def __init__(self, nursery: TaskGroup) -> None:
        self._nursery = nursery
        self._opening = anyio.Lock()
        self._folder: Path | None = None
        self._serving = anyio.CancelScope()
        self._answerers: dict[str, Answerer] = {}

    async def open(self) -> Path:
        """The socket's path, which is short: systems allow about a hundred characters."""
        async with self._opening:
            if self._folder is None:
                folder = Path(tempfile.mkdtemp(prefix="everyagent-"))
                listener = await anyio.create_unix_listener(folder / "gate", mode=0o600)
                self._nursery.start_soon(self._serve, listener)
                self._folder = folder
            return self._folder / "gate"

    def admit(self, answerer: Answerer) -> str:
        """The token by which hooks of this session are known from now on."""
        token = secrets.token_urlsafe(32)
        self._answerers[token] = answerer
        return token

    def dismiss(self, token: str) -> None:
        self._answerers.pop(token, None)

    async def close(self) -> None:
        self._serving.cancel()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self, listener: Listener[SocketStream]) -> None:
        with self._serving:
            async with listener:
                await listener.serve(self._answer)

    async def _answer(self, stream: SocketStream) -> None:
        """Whatever a stranger does at the gate, it stays open for the others."""
        async with stream:
            try:
                await self._attend(stream)
            except* (anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError, ValueError) as problem:
                logger.info("a hook was not answered", problem=repr(problem.exceptions[0]))

    async def _attend(self, stream: SocketStream) -> None:
        if not _is_us(stream):
            return
        token, _, wish = (await _everything(stream)).partition(b"\n")
        answerer = self._answerers.get(token.decode())
        if answerer is None:
            await stream.send(b"reject This session has no business here any more.")
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_alive, stream)
            why = await answerer(wish)
            await stream.send(b"allow" if why is None else b"reject " + why.encode())
            tasks.cancel_scope.cancel()


async def _everything(stream: SocketStream) -> bytes:
    """All that is sent, within bounds of size and time."""
    heard = bytearray()
    with anyio.fail_after(READ_LIMIT):
        try:
            while len(heard) < WISH_LIMIT:
                heard += await stream.receive()
        except anyio.EndOfStream:
            return bytes(heard)
    raise ValueError(f"a wish of more than {WISH_LIMIT} bytes")


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
