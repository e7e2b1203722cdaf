"""A child process with its pipes, lines of output, and shutdown."""

import asyncio
import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.model.events import StderrOutput
from everyagent.runtime import process_tree
from everyagent.runtime.exit import Exit, on_exit
from everyagent.runtime.framing import Line, LineSplitter
from everyagent.runtime.limits import UNLIMITED, LimitHit, ProcessLimits
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.spawn import spawn
from everyagent.runtime.stderr import StderrKeeper
from everyagent.runtime.stdin import Stdin
from everyagent.runtime.wall import Wall

READ_SIZE = 128 * 1024
PIPE_SIZE = 1024 * 1024
GRACE = 3.0
KILL_LIMIT = 10.0


class Process:
    """Runs in its own session and process group. It and its descendants carry the reaper's markers.

    `limit_hit` is set if it was ended because it used too much.

    One task reads `lines` or `chunks` to their end. `stop` can be called by any task, any number of times.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        mark: str,
        reaper: Reaper,
        limits: ProcessLimits = UNLIMITED,
        wall: Wall | None = None,
    ) -> None:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        self.pid = child.pid
        self._child = child
        self._stdin = Stdin(child.stdin)
        self._stdout = child.stdout
        self._stderr = child.stderr
        self._stderr_lines = StderrKeeper()
        self.limits = limits
        self.limit_hit: LimitHit | None = None
        self._podman = wall.podman if wall else None
        self._walled = wall is not None and not self._podman
        self.memory_folders = wall.memory_folders if wall and self._walled else ()
        self._mark = mark
        self._reaper = reaper
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()  # output to read, a nudge, or the exit
        self._nudged = False
        self._reading = False
        self._exited = asyncio.Event()
        self._exit: Exit | None = None
        os.set_blocking(self._stdout.fileno(), False)
        os.set_blocking(self._stderr.fileno(), False)
        _widen(self._stdout.fileno())
        self._loop.add_reader(self._stderr.fileno(), self._read_stderr)
        on_exit(child, self._ended)
        if limits.watched:
            reaper.limits.add(self)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        reaper: Reaper,
        wall: Wall | None = None,
        limits: ProcessLimits = UNLIMITED,
        network: socket.socket | None = None,
    ) -> "Process":
        """Start a program. Raises `AgentNotInstalled` if it does not exist, `AgentFailed` if it does not start."""
        start = partial(
            spawn,
            argv,
            directory=directory,
            environment=environment,
            reaper=reaper,
            wall=wall,
            limits=limits,
            network=network,
        )
        if not directory.is_dir():
            raise AgentFailed(
                f"The session's directory {directory} does not exist. Create it, or use another directory."
            )
        try:
            reaper.watch()
            child, mark = await to_thread.run_sync(start)
        except FileNotFoundError:
            raise AgentNotInstalled(f"There is no program {argv[0]}.") from None
        except OSError as error:
            raise AgentFailed(f"The program {argv[0]} could not be started: {error}.") from error
        return cls(child, mark, reaper, limits, wall)

    @property
    def exit(self) -> Exit | None:
        """None while it runs."""
        return self._exit

    @property
    def stderr(self) -> StderrOutput | None:
        return self._stderr_lines.output()

    @property
    def last_error_line(self) -> str | None:
        return self._stderr_lines.last_line

    async def write(self, data: bytes) -> None:
        """Write all data to its stdin. Raises `AgentFailed`."""
        await self._stdin.write(data)

    def close_stdin(self) -> None:
        self._stdin.close()

    def interrupt(self) -> None:
        """Send SIGINT to the process alone, not to its descendants."""
        if self._exit is None:
            os.kill(self.pid, signal.SIGINT)

    def exceeded(self, hit: LimitHit) -> None:
        """End it with all its descendants, because it uses too much. `limit_hit` is the reason from now on."""
        if self._exit is None and self.limit_hit is None:
            self.limit_hit = hit
            if self._podman:
                self._loop.run_in_executor(None, self._podman.remove, self._mark)
            elif self._walled:
                self._signal(signal.SIGKILL)  # everything behind the wall ends with its first process
            else:
                self._loop.run_in_executor(None, process_tree.kill_descendants, self.pid)

    def nudge(self) -> None:
        """Make `lines` yield soon, with an empty batch if there is no output."""
        self._nudged = True
        self._news.set()

    async def lines(self) -> AsyncGenerator[list[Line], None]:
        """Yield batches of complete lines until the process has ended. Reads only as fast as the caller iterates."""
        splitter = LineSplitter()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                batch = splitter.feed(chunk)
                if batch or not chunk:
                    yield batch
        if batch := splitter.finish():
            yield batch

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield its output as it comes, and empty chunks for nudges. Use either this or `lines`.

        Ends with the process, even if a descendant still holds its stdout open.
        """
        self._reading = True
        stdout = self._stdout.fileno()
        try:
            while True:
                exited = self._exited.is_set()
                chunk = _read(stdout)
                if chunk:
                    yield chunk
                    await asyncio.sleep(0)
                elif exited:
                    break
                else:
                    await self._wait_for_news(stdout if chunk is None else None)
                    if self._nudged:
                        self._nudged = False
                        yield b""
        finally:
            self._stdout.close()

    async def wait(self) -> Exit:
        await self._exited.wait()
        assert self._exit
        return self._exit

    async def stop(self, grace: float = GRACE) -> Exit:
        """Stop it and all its descendants: close its stdin, then SIGTERM, then SIGKILL, `grace` seconds apart.

        Raises `AgentFailed` if a process cannot be killed within a time limit.
        """
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            if not await self._ends_within(grace):
                self._signal(signal.SIGTERM)
                await self._ends_within(grace)
            if self._podman and self._exit is None:
                await to_thread.run_sync(self._podman.remove, self._mark)
            gone = await self._reaper.kill_spawn(self._mark, limit=KILL_LIMIT)
            if not (gone and await self._ends_within(KILL_LIMIT)):
                raise AgentFailed(f"Process {self.pid} or one of its descendants could not be killed.")
            if not self._reading:
                self._stdout.close()
        return await self.wait()

    async def _ends_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    def _signal(self, number: signal.Signals) -> None:
        """Signal the process group, unless its leader is reaped: then the id may belong to another process."""
        if self._exit is None:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return

    def _ended(self) -> None:
        self._signal(signal.SIGKILL)  # the remaining processes of its group
        self._exit = Exit.of(self._child.wait())
        self._reaper.limits.remove(self)
        self._finish_stderr()
        self._stdin.close()
        self._exited.set()
        self._news.set()

    async def _wait_for_news(self, fd: int | None) -> None:
        """Wait for the exit, a nudge, or output on `fd`, which is None after its end."""
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
            self._stderr_lines.feed(chunk)
        elif chunk == b"":
            self._loop.remove_reader(self._stderr.fileno())

    def _finish_stderr(self) -> None:
        """Read the rest of stderr, up to a limit: a descendant may hold the pipe and keep writing."""
        self._loop.remove_reader(self._stderr.fileno())
        for _ in range(PIPE_SIZE // READ_SIZE):
            if not (chunk := _read(self._stderr.fileno())):
                break
            self._stderr_lines.feed(chunk)
        self._stderr_lines.finish()
        self._stderr.close()


def _read(fd: int) -> bytes | None:
    """Available bytes; None if there are none yet, empty at the end."""
    try:
        return os.read(fd, READ_SIZE)
    except BlockingIOError:
        return None


def _widen(fd: int) -> None:
    """Enlarge the pipe, so that a fast agent rarely blocks. The system may refuse; then it keeps its size."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        except PermissionError:
            return
