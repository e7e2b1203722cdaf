"""Where delegates knock: a private socket, one for all sessions of a daemon. Each is known by a token of its session's.

`delegate.py` is the other end. What is decided is `asks.py`'s; here it is only asked and told.
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
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from msgspec import Raw, convert

from everyagent.agents.amp.permissions import Allowed, Rejected, Standing, Wish
from everyagent.logs import get_logger

logger = get_logger(__name__)

WISH_LIMIT = 64 * 1024 * 1024
READ_LIMIT = 30.0
#: More often than a delegate takes the daemon for gone.
HEARTBEAT = 10.0

Answerer: TypeAlias = Callable[[Wish], Awaitable[Allowed | Rejected]]


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
        """The token by which delegates of this session are known from now on."""
        token = secrets.token_urlsafe(32)
        self._answerers[token] = answerer
        return token

    def dismiss(self, token: str) -> None:
        self._answerers.pop(token, None)

    async def close(self) -> None:
        self._serving.cancel()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self, listener: anyio.abc.Listener[SocketStream]) -> None:
        with self._serving:
            async with listener:
                await listener.serve(self._answer)

    async def _answer(self, stream: SocketStream) -> None:
        """Whatever a stranger does at the gate, it stays open for the others."""
        async with stream:
            try:
                await self._attend(stream)
            except Exception as problem:  # noqa: BLE001 - a daemon does not fall over a knock
                logger.info("a delegate of amp was not answered", problem=repr(problem))

    async def _attend(self, stream: SocketStream) -> None:
        if not _is_us(stream):
            return
        token, standing, tool, input = (await _everything(stream)).split(b"\n", 3)
        answerer = self._answerers.get(token.decode())
        if answerer is None:
            await stream.send(b"reject This session has no business here any more.")
            return
        wish = Wish(tool.decode(), Raw(input), convert(standing.decode(), Standing))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_alive, stream)
            verdict = await answerer(wish)
            await stream.send(b"allow" if isinstance(verdict, Allowed) else b"reject " + verdict.reason.encode())
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
        await anyio.sleep(HEARTBEAT)
        await stream.send(b"\n")


def _is_us(stream: SocketStream) -> bool:
    """Where the system tells who is on the other side, only this user is let in; the folder sees to the rest."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    other = stream.extra(SocketAttribute.raw_socket).getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", other)[1] == os.geteuid()
