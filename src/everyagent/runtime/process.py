"""One child process: its pipes, its lines, its end. Drivers of agents that speak in lines stand on it."""

import asyncio
import fcntl
import os
import secrets
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import anyio
from anyio import to_thread

from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.model.events import StderrOutput
from everyagent.runtime.exit import Exit, on_exit
from everyagent.runtime.framing import Line, LineSplitter
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.stderr import StderrKeeper
from everyagent.runtime.stdin import Stdin

READ_SIZE = 128 * 1024
PIPE_SIZE = 1024 * 1024
GRACE = 3.0
KILL_LIMIT = 10.0


class Process:
    """In a session and group of its own; it and all it starts carry the reaper's markers.

    One task reads `lines`, to their end. `stop` may be called by anyone, any number of times.
    """

    def __init__(self, child: subprocess.Popen[bytes], spawn: str, reaper: Reaper) -> None:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        self.pid = child.pid
        self._child = child
        self._stdin = Stdin(child.stdin)
        self._stdout = child.stdout
        self._stderr = child.stderr
        self._said_on_stderr = StderrKeeper()
        self._spawn = spawn
        self._reaper = reaper
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()  # output to read, a nudge, or the end
        self._nudged = False
        self._reading = False
        self._exited = asyncio.Event()
        self._exit: Exit | None = None
        os.set_blocking(self._stdout.fileno(), False)
        os.set_blocking(self._stderr.fileno(), False)
        _widen(self._stdout.fileno())
        self._loop.add_reader(self._stderr.fileno(), self._read_stderr)
        on_exit(child, self._ended)

    @classmethod
    async def start(
        cls, argv: Sequence[str], *, directory: Path, environment: Mapping[str, str], reaper: Reaper
    ) -> "Process":
        """Raises `AgentNotInstalled` if there is no such program, `AgentFailed` if it does not start."""
        spawn = secrets.token_hex(8)
        marked = {**environment, **reaper.marks(spawn)}

        def popen() -> subprocess.Popen[bytes]:
            pipe = subprocess.PIPE
            return subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=directory, env=marked, bufsize=0, start_new_session=True
            )

        if not directory.is_dir():
            raise AgentFailed(f"The session's directory {directory} does not exist. Make it, or start another session.")
        try:
            reaper.watch()
            child = await to_thread.run_sync(popen)
        except FileNotFoundError:
            raise AgentNotInstalled(f"There is no program {argv[0]}.") from None
        except OSError as error:
            raise AgentFailed(f"The program {argv[0]} could not be started: {error}.") from error
        return cls(child, spawn, reaper)

    @property
    def exit(self) -> Exit | None:
        """None while it lives."""
        return self._exit

    @property
    def stderr(self) -> StderrOutput | None:
        return self._said_on_stderr.output()

    @property
    def last_words(self) -> str | None:
        return self._said_on_stderr.last_line

    async def write(self, data: bytes) -> None:
        """To its stdin, whole. Raises `AgentFailed`."""
        await self._stdin.write(data)

    def close_stdin(self) -> None:
        self._stdin.close()

    def interrupt(self) -> None:
        """SIGINT, to itself alone: what it started is its own to end."""
        if self._exit is None:
            os.kill(self.pid, signal.SIGINT)

    def nudge(self) -> None:
        """Make `lines` yield soon, with nothing if nothing came."""
        self._nudged = True
        self._news.set()

    async def lines(self) -> AsyncGenerator[list[Line], None]:
        """Batches of complete lines, until the process has ended; no more is read than is asked for.

        Ends with the process, even if something it left behind still holds its stdout.
        """
        self._reading = True
        splitter = LineSplitter()
        stdout = self._stdout.fileno()
        try:
            while True:
                exited = self._exited.is_set()
                chunk = _read(stdout)
                if chunk:
                    if batch := splitter.feed(chunk):
                        yield batch
                    await asyncio.sleep(0)
                elif exited:
                    break
                else:
                    await self._wait_for_news(stdout if chunk is None else None)
                    if self._nudged:
                        self._nudged = False
                        yield []
            if batch := splitter.finish():
                yield batch
        finally:
            self._stdout.close()

    async def wait(self) -> Exit:
        await self._exited.wait()
        assert self._exit
        return self._exit

    async def stop(self, grace: float = GRACE) -> Exit:
        """End it and everything it started: by closing its stdin, then SIGTERM, then SIGKILL.

        Each step gets `grace` seconds. Bounded: raises `AgentFailed` if the system cannot kill it.
        """
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            if not await self._ends_within(grace):
                self._signal(signal.SIGTERM)
                if not await self._ends_within(grace):
                    self._signal(signal.SIGKILL)
            gone = await self._reaper.kill_spawn(self._spawn, limit=KILL_LIMIT)
            if not (gone and await self._ends_within(KILL_LIMIT)):
                raise AgentFailed(f"Process {self.pid} or something it started could not be killed.")
            if not self._reading:
                self._stdout.close()
        return await self.wait()

    async def _ends_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group; only until its leader is reaped, since then the number may become another's."""
        if self._exit is None:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return

    def _ended(self) -> None:
        self._signal(signal.SIGKILL)  # who is left in its group
        self._exit = Exit.of(self._child.wait())
        self._finish_stderr()
        self._stdin.close()
        self._exited.set()
        self._news.set()

    async def _wait_for_news(self, fd: int | None) -> None:
        """`fd` is what to wait for besides the end and a nudge; None when it is at its end already."""
        if fd is not None:
            self._loop.add_reader(fd, self._news.set)
        try:
            await self._news.wait()
            self._news.clear()
        finally:
            if fd is not None:
                self._loop.remove_reader(fd)

    def _read_stderr(self) -> None:
        if chunk := _read(self._stderr.fileno()):
            self._said_on_stderr.feed(chunk)
        elif chunk == b"":
            self._loop.remove_reader(self._stderr.fileno())

    def _finish_stderr(self) -> None:
        """Bounded: what it left behind may hold the pipe and write on."""
        self._loop.remove_reader(self._stderr.fileno())
        for _ in range(PIPE_SIZE // READ_SIZE):
            if not (chunk := _read(self._stderr.fileno())):
                break
            self._said_on_stderr.feed(chunk)
        self._said_on_stderr.finish()
        self._stderr.close()


def _read(fd: int) -> bytes | None:
    """What is there; None if nothing is yet, empty at the end."""
    try:
        return os.read(fd, READ_SIZE)
    except BlockingIOError:
        return None


def _widen(fd: int) -> None:
    """A wide pipe lets a fast agent write on while we work. The system may refuse; then it stays as it is."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        except PermissionError:
            return
