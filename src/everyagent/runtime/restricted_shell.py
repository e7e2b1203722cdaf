"""A shell whose commands can connect only to allowed hosts, through a proxy, and to their own loopback.

For agents without a sandbox whose shell can be chosen. It restricts the network, not the file system: a command can
still change files that other programs run, or use a Unix socket.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from anyio import to_thread

from everyagent.errors import AgentFailed
from everyagent.runtime import network_namespace
from everyagent.runtime.proxy import Proxy

_LIMIT_SECONDS = 30.0
_NO_PROXY = "localhost,127.0.0.1,::1"
_ENTERED = """#!/bin/sh
unset BASH_ENV CLAUDE_CODE_SHELL
if [ "$(readlink {net})" != {inode} ]; then
    echo "everyagent: this session's network is closed, so the command was not run. Restart its agent." >&2
    exit 126
fi
export SHELL={bash} {variables}
exec {nsenter} --user={user} --net={net} --preserve-credentials -- {bash} "$@"
"""
#: Read by bash before its command, which it then runs in the namespace instead.
_DIVERTED = """if [ -n "${{BASH_EXECUTION_STRING+set}}" ]; then
    exec {entered} -c "$BASH_EXECUTION_STRING" "$0" "$@"
fi
exec {entered} "$0" "$@"
"""


class RestrictedShell:
    """`bash` is the program to use as the shell. `bash_env` restricts any other bash, as its BASH_ENV."""

    network = None

    def __init__(self, folder: Path, namespaces: Sequence[int], proxy: Proxy) -> None:
        self.bash = folder / "bash"
        self.bash_env = folder / "bash-env"
        self._namespaces = namespaces
        self._proxy = proxy

    @classmethod
    async def open(cls, allowed: Sequence[str], folder: Path) -> "RestrictedShell":
        """Create the shell's files in `folder`. Raises `AgentFailed` if the system does not permit it."""
        user, net, listener = await to_thread.run_sync(_namespaces)
        try:
            shell = cls(folder, (user, net), Proxy(allowed, listener))
            await to_thread.run_sync(shell._write, listener.getsockname()[1])
            await shell._proxy.open()
        except BaseException:
            listener.close()
            os.close(user)
            os.close(net)
            raise
        return shell

    def close(self) -> None:
        """Close the proxy and the namespace. Running commands keep only their loopback; new ones are not run."""
        self._proxy.close()
        for namespace in self._namespaces:
            os.close(namespace)
        self._namespaces = ()

    def _write(self, port: int) -> None:
        user, net = (f"/proc/{os.getpid()}/fd/{namespace}" for namespace in self._namespaces)
        entered = _ENTERED.format(
            user=user,
            net=net,
            inode=shlex.quote(os.readlink(net)),
            bash=shlex.quote(found_program("bash")),
            nsenter=shlex.quote(found_program("nsenter")),
            variables=proxy_variables(port),
        )
        self.bash.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.bash.write_text(entered)
        self.bash.chmod(0o700)
        self.bash_env.write_text(diverted(self.bash))


def proxy_variables(port: int) -> str:
    """Assignments of the variables that lead programs to the proxy."""
    given = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), f"http://127.0.0.1:{port}")
    given |= {"no_proxy": _NO_PROXY}
    given |= {name.upper(): value for name, value in given.items()} | {"NODE_USE_ENV_PROXY": "1"}
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())


def diverted(bash: Path) -> str:
    """A file for BASH_ENV that runs any bash's command in the restricted shell `bash`."""
    return _DIVERTED.format(entered=shlex.quote(str(bash)))


@cache
def unavailable_reason() -> str | None:
    """The reason why this machine cannot restrict a shell, or None if it can. Blocks the first time."""
    try:
        user, net, listener = _namespaces()
    except AgentFailed as error:
        return str(error)
    with listener:
        entry = (found_program("nsenter"), f"--user=/proc/self/fd/{user}", f"--net=/proc/self/fd/{net}", "true")
        entered = subprocess.run(entry, env={}, pass_fds=(user, net), capture_output=True, timeout=_LIMIT_SECONDS)
        os.close(user)
        os.close(net)
    return entered.stderr.decode(errors="replace").strip() if entered.returncode else None


def _namespaces() -> tuple[int, int, socket.socket]:
    """Descriptors of a user namespace and a network namespace, and a socket that listens in it."""
    for program in ("bash", "nsenter"):
        found_program(program)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [sys.executable, "-I", "-S", network_namespace.__file__, str(theirs.fileno())]
        try:
            given = [theirs.fileno()]
            made = subprocess.run(argv, env={}, pass_fds=given, capture_output=True, timeout=_LIMIT_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise AgentFailed(f"A network namespace could not be created: {error}.") from error
        if made.returncode:
            reason = made.stderr.decode(errors="replace").strip()
            raise AgentFailed(f"The system refused to create a network namespace ({reason}).")
        _, (user, net, listening), _, _ = socket.recv_fds(ours, 16, 3)
    listener = socket.socket(fileno=listening)
    listener.setblocking(False)
    return user, net, listener


def found_program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise AgentFailed(f"There is no program {name} on this machine; restricting the network needs it.")
    return path
