"""Terminals on the client's side: commands that an agent asks the daemon to run in the session's directory."""

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

from everyagent.agents.acp import wire
from everyagent.agents.supervision import OnFault, TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.runtime.exit import Exit
from everyagent.runtime.limits import UNLIMITED, ProcessLimits
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.wall import Wall

#: The output that is kept if the agent names no limit, and the most that it may ask for.
OUTPUT_BYTES = 1024 * 1024
#: So many terminals may be open in one session.
MOST = 64


class Terminal:
    """A running command. Of its output the newest `limit` bytes are kept."""

    def __init__(self, process: Process, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._output = bytearray()
        self.truncated = False

    async def run(self) -> None:
        async with aclosing(self._process.lines()) as batches:
            async for lines in batches:
                for line in lines:
                    self._output += line.body + b"\n"
                if len(self._output) > self._limit:
                    del self._output[: len(self._output) - self._limit]
                    self.truncated = True
        if hit := self._process.limit_hit:
            self._output += f"{hit.message}\n".encode()

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace")

    @property
    def exit(self) -> Exit | None:
        return self._process.exit

    def state(self) -> dict[str, object]:
        status = exit_status(self.exit) if self.exit else None
        return {"output": self.output, "truncated": self.truncated, "exitStatus": status}

    async def wait(self) -> dict[str, object]:
        return exit_status(await self._process.wait())

    async def kill(self) -> None:
        await self._process.stop(0)


class Terminals:
    """The terminals of one session. Released ones are remembered for their output until the session's agent ends."""

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
        self._count = 0

    async def create(self, request: wire.CreateTerminal, on_fault: OnFault) -> str:
        """The id of a new terminal. Standard error is part of the output. Raises `AgentFailed`."""
        if len([each for each in self._terminals.values() if each.exit is None]) >= MOST:
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

    def shown(self, name: str) -> tuple[str, int | None] | None:
        """The output and exit code of a terminal, for the tool call that contains it."""
        terminal = self._terminals.get(name)
        return (terminal.output, terminal.exit.code if terminal.exit else None) if terminal else None

    async def close(self) -> None:
        for terminal in self._terminals.values():
            await terminal.kill()


def exit_status(exit: Exit) -> dict[str, object]:
    return {"exitCode": exit.code, "signal": exit.signal}
