"""Terminals on the client's side: commands that an agent asks the daemon to run in the session's directory."""

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import anyio

from everyagent.agents.acp import wire
from everyagent.agents.supervision import OnFault, TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.exit import Exit
from everyagent.runtime.limits import UNLIMITED, ProcessLimits
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.wall import Wall

logger = get_logger(__name__)

#: The output that is kept if the agent names no limit, and the most that it may ask for.
OUTPUT_BYTES = 1024 * 1024
#: So many terminals may be open in one session: a terminal is open until the agent releases it.
MOST = 64
#: So much output of released terminals is kept in one session, for the tool calls that contain them.
RELEASED_BYTES = 2 * OUTPUT_BYTES


class Terminal:
    """A running command. Of its output the newest `limit` bytes are kept."""

    def __init__(self, process: Process, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._output = bytearray()
        self._complete = anyio.Event()
        self.truncated = False

    async def run(self) -> None:
        try:
            async with aclosing(self._process.chunks()) as chunks:
                async for chunk in chunks:
                    self._add(chunk)
            if hit := self._process.limit_hit:
                line_end = b"" if self._output.endswith(b"\n") or not self._output else b"\n"
                self._add(line_end + f"{hit.message}\n".encode())
        finally:
            self._complete.set()

    def _add(self, chunk: bytes) -> None:
        self._output += chunk
        if len(self._output) > self._limit:
            del self._output[: len(self._output) - self._limit]
            while self._output and self._output[0] & 0xC0 == 0x80:  # the rest of a character that was cut
                del self._output[0]
            self.truncated = True

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace")

    @property
    def size(self) -> int:
        return len(self._output)

    @property
    def exit(self) -> Exit | None:
        """None until all output was read."""
        return self._process.exit if self._complete.is_set() else None

    def state(self) -> dict[str, object]:
        status = exit_status(self.exit) if self.exit else None
        return {"output": self.output, "truncated": self.truncated, "exitStatus": status}

    async def wait(self) -> dict[str, object]:
        await self._complete.wait()
        return exit_status(await self._process.wait())

    async def kill(self) -> None:
        await self._process.stop(0)


class Terminals:
    """The terminals of one session. Of released ones only the output is kept, and only the newest."""

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str],
        tasks: TaskSupervisor,
        reaper: Reaper,
        wall: Wall | None = None,
        limits: ProcessLimits = UNLIMITED,
    ) -> None:
        self._directory = directory
        self._environment = environment
        self._tasks = tasks
        self._reaper = reaper
        self._wall = wall
        self._limits = limits
        self._terminals: dict[str, Terminal] = {}
        self._released: dict[str, Terminal] = {}
        self._count = 0
        self._closed = False

    async def create(self, request: wire.CreateTerminal, on_fault: OnFault) -> str:
        """The id of a new terminal. Standard error is part of the output. Raises `AgentFailed`."""
        if len(self._terminals) >= MOST:
            raise AgentFailed(f"{MOST} terminals are open already. Release one first.")
        directory = Path(request.cwd) if request.cwd else self._directory
        if not directory.resolve().is_relative_to(self._directory.resolve()):
            raise AgentFailed(f"{directory} is not inside the session's directory {self._directory}.")
        # Without arguments the command is a line for the shell, as agents send it.
        words = [request.command, *request.args] if request.args else ["sh", "-c", request.command]
        process = await Process.start(
            ["sh", "-c", 'exec "$@" 2>&1', "sh", *words],
            directory=directory,
            environment={**self._environment, **{each.name: each.value for each in request.env}},
            reaper=self._reaper,
            wall=self._wall,
            limits=self._limits,
        )
        if self._closed:  # while the process was started
            await process.stop(0)
            raise AgentFailed("The agent has ended, and so do its terminals.")
        process.close_stdin()
        limit = OUTPUT_BYTES if request.output_byte_limit is None else request.output_byte_limit
        terminal = Terminal(process, max(0, min(limit, OUTPUT_BYTES)))
        self._count += 1
        name = f"terminal-{self._count}"
        self._terminals[name] = terminal
        self._tasks.start_soon(terminal.run, on_fault=on_fault)
        return name

    def get(self, name: str) -> Terminal:
        terminal = self._terminals.get(name)
        if terminal is None:
            raise AgentFailed(f"There is no terminal {name!r}.")
        return terminal

    async def release(self, name: str) -> None:
        """End the command and close the terminal. A tool call that contains it still shows its output."""
        terminal = self.get(name)
        await terminal.kill()
        self._released[name] = self._terminals.pop(name, terminal)
        while sum(each.size for each in self._released.values()) > RELEASED_BYTES or len(self._released) > MOST:
            del self._released[next(iter(self._released))]

    def shown(self, name: str) -> tuple[str, int | None] | None:
        """The output and exit code of a terminal, for the tool call that contains it."""
        terminal = self._terminals.get(name) or self._released.get(name)
        return (terminal.output, terminal.exit.code if terminal.exit else None) if terminal else None

    async def close(self) -> None:
        """End all commands, also if one of them cannot be ended, and those that are just being started."""
        self._closed = True
        for terminal in list(self._terminals.values()):
            try:
                await terminal.kill()
            except AgentFailed as failure:
                logger.warning("a terminal of an agent could not be ended", error=failure.detail)


def exit_status(exit: Exit) -> dict[str, object]:
    return {"exitCode": exit.code, "signal": exit.signal}
