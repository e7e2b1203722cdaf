"""The restricted shell of an agent behind a wall.

The agent's wall brings the network namespace of its commands, because a process behind a wall can enter no namespace
that was made outside. `restricted_shell.py` is the same for an agent without a wall.
"""

import asyncio
import shlex
import socket
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from everyagent.logs import get_logger
from everyagent.runtime.entry.network import PROXY_PORT
from everyagent.runtime.proxy import Proxy
from everyagent.runtime.restricted_shell import diverted, found_program, proxy_variables

logger = get_logger(__name__)
#: The process behind the wall that keeps the namespaces: the first that the wall starts. If another process has this
#: id later, its user namespace is the agent's own, which cannot be entered: then no command runs.
_KEEPER = "/proc/2/ns"
_ENTERED = """#!/bin/sh
unset BASH_ENV CLAUDE_CODE_SHELL
export SHELL={bash} {variables}
exec {nsenter} --user={keeper}/user --net={keeper}/net --preserve-credentials -- {bash} "$@"
"""


class WalledShell:
    """Each process that starts with `network` sends the socket on which the proxy serves its commands."""

    def __init__(self, folder: Path, allowed: Sequence[str]) -> None:
        self.bash = folder / "bash"
        self.bash_env = folder / "bash-env"
        self._allowed = allowed
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._arrived = asyncio.Event()
        self._proxies: list[Proxy] = []
        self._accepting: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, allowed: Sequence[str], folder: Path) -> "WalledShell":
        """Create the shell's files in `folder`. Raises `AgentFailed` if a program is missing."""
        shell = cls(folder, allowed)
        await to_thread.run_sync(shell._write)
        asyncio.get_running_loop().add_reader(shell._ours.fileno(), shell._arrived.set)
        shell._accepting = asyncio.create_task(shell._accept())
        return shell

    @property
    def network(self) -> socket.socket:
        return self._theirs

    def close(self) -> None:
        """Close the proxies. Running commands keep only their loopback."""
        if self._accepting:
            asyncio.get_running_loop().remove_reader(self._ours.fileno())
            self._accepting.cancel()
            self._accepting = None
        for proxy in self._proxies:
            proxy.close()
        self._ours.close()
        self._theirs.close()

    async def _accept(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
            except BlockingIOError:
                continue
            self._arrived.set()
            for descriptor in descriptors:
                listener = socket.socket(fileno=descriptor)
                listener.setblocking(False)
                proxy = Proxy(self._allowed, listener)
                self._proxies.append(proxy)
                await proxy.open()

    def _write(self) -> None:
        entered = _ENTERED.format(
            keeper=_KEEPER,
            bash=shlex.quote(found_program("bash")),
            nsenter=shlex.quote(found_program("nsenter")),
            variables=proxy_variables(PROXY_PORT),
        )
        self.bash.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.bash.write_text(entered)
        self.bash.chmod(0o700)
        self.bash_env.write_text(diverted(self.bash))
