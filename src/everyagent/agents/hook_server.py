"""The socket on which permission hooks of agents ask for a decision: one for all sessions of an adapter.

`hook_client.py` is the other end. Each session has a token; its conversation decides. Each call has a random id, and is
taken once.
"""

import os
import secrets
import shutil
import socket
import struct
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from everyagent.agents.supervision import OnFault, TaskSupervisor, report
from everyagent.logs import get_logger

logger = get_logger(__name__)

HEAD_LIMIT = 256
WISH_LIMIT = 64 * 1024 * 1024
READ_LIMIT = 30.0
#: So many calls of a session are remembered.
REMEMBERED_CALLS = 10_000
#: Shorter than the silence after which `hook_client.py` gives the daemon up.
HEARTBEAT = 10.0
_FAULT = "An internal error of everyagent kept this call from being decided, so it is rejected."

#: Decides on a tool call, as the hook describes it: the reason for a denial, or None to allow. Cancelled when the hook
#: has gone.
Answerer: TypeAlias = Callable[[bytes], Awaitable[str | None]]


class _Session(NamedTuple):
    """`calls` are the ids of the latest calls, oldest first."""

    answerer: Answerer
    on_fault: OnFault | None
    calls: dict[str, None]


def write_token(folder: Path, token: str) -> Path:
    """Writes the token where only this user can read it. Each token has a file of its own."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"hook-{secrets.token_hex(8)}"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token)
    return path


class HookServer:
    """Opened when the first session needs it, in a folder that only this user can enter.

    If the socket was deleted, later sessions get a new one.
    """

    def __init__(self, tasks: TaskSupervisor) -> None:
        self._tasks = tasks
        self._opening = anyio.Lock()
        self._folders: list[Path] = []
        self._serving: list[anyio.CancelScope] = []
        self._sessions: dict[str, _Session] = {}

    async def open(self) -> Path:
        """The socket's path, which is short: systems allow about a hundred characters."""
        async with self._opening:
            if not self._folders or not (self._folders[-1] / "hook").exists():
                folder = Path(tempfile.mkdtemp(prefix="everyagent-"))
                self._folders.append(folder)
                listener = await anyio.create_unix_listener(folder / "hook", mode=0o600)
                self._tasks.start_soon(self._serve, listener, folder / "hook")
            return self._folders[-1] / "hook"

    def admit(self, answerer: Answerer, on_fault: OnFault | None = None, *, token: str | None = None) -> str:
        """The token by which hooks of this session are known from now on: the given one, else a new one.

        `on_fault` gets what the answerer raises, to end the session's agent; the call in question is rejected.
        """
        token = token or secrets.token_urlsafe(32)
        self._sessions[token] = _Session(answerer, on_fault, {})
        return token

    def dismiss(self, token: str) -> None:
        self._sessions.pop(token, None)

    async def close(self) -> None:
        for scope in self._serving:
            scope.cancel()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    async def _serve(self, listener: Listener[SocketStream], path: Path) -> None:
        with anyio.CancelScope() as scope:
            self._serving.append(scope)
            try:
                async with listener:
                    await listener.serve(self._answer)
            finally:
                path.unlink(missing_ok=True)  # so that `open` does not return a socket without a server

    async def _answer(self, stream: SocketStream) -> None:
        """One hook, from its question to its answer. A client that breaks the protocol disturbs no other."""
        async with stream:
            try:
                await self._attend(stream)
            except Exception as problem:  # noqa: BLE001 - anything that a client can cause
                logger.info("a permission hook got no answer", problem=repr(problem))

    async def _attend(self, stream: SocketStream) -> None:
        if not _is_us(stream):
            return
        token, call, wish = await _everything(stream)
        session = self._sessions.get(token)
        if session is None:
            await stream.send(b"reject This session has ended, so it cannot decide on the call.")
            return
        if call in session.calls:
            await stream.send(b"reject This call was decided before. Each call is taken once.")
            return
        session.calls[call] = None
        if len(session.calls) > REMEMBERED_CALLS:
            del session.calls[next(iter(session.calls))]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_alive, stream)
            why = await _decided(session, wish)
            await stream.send(b"allow" if why is None else b"reject " + why.encode())
            tasks.cancel_scope.cancel()


async def _decided(session: _Session, wish: bytes) -> str | None:
    try:
        return await session.answerer(wish)
    except Exception as fault:
        logger.exception("a permission hook could not be decided")
        if session.on_fault:
            await report(session.on_fault, fault)
        return _FAULT


async def _everything(stream: SocketStream) -> tuple[str, str, bytes]:
    """The token, the id and the description of a call: a line with the first two and a length, then the description."""
    with anyio.fail_after(READ_LIMIT):
        received = BufferedByteReceiveStream(stream)
        token, call, length = (await received.receive_until(b"\n", HEAD_LIMIT)).decode().split()
        if not 0 <= int(length) <= WISH_LIMIT:
            raise ValueError(f"a description of {length} bytes is too long")
        return token, call, await received.receive_exactly(int(length))


async def _keep_alive(stream: SocketStream) -> None:
    """Also notices that the hook has gone: then sending fails, which cancels the decision."""
    while True:
        await stream.send(b"\n")
        await anyio.sleep(HEARTBEAT)


def _is_us(stream: SocketStream) -> bool:
    """Whether the client runs as this user. If the system does not report it, only the folder's mode protects us."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    other = stream.extra(SocketAttribute.raw_socket).getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", other)[1] == os.geteuid()
