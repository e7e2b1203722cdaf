"""A server program on loopback that ends with this process."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from everyagent.runtime.ports import free_port

#: Seconds that a start or a stop may take.
LIMIT = 60.0
_PR_SET_PDEATHSIG = 1


class MissingProgram(Exception):
    """A program is not installed. The message says how to install it."""


class FailedStart(Exception):
    """The message has the end of the program's output."""


class Account(NamedTuple):
    """The user that a program runs as."""

    uid: int
    gid: int


class Server(ABC):
    """A program with a port. It may be stopped or killed, and started again on the same port.

    `title` is for people, `flags` and `environment` are those of `everyagent serve` that make it use the server.
    """

    title: str
    environment: ClassVar[Mapping[str, str]] = {}
    account: Account | None = None
    #: Sent to it when this process dies.
    death: signal.Signals = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        """`folder` exists, and is the server's own."""
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    @abstractmethod
    def flags(self) -> Sequence[str]: ...

    @abstractmethod
    def command(self) -> Sequence[str | Path]: ...

    @abstractmethod
    def answers(self) -> bool:
        """Whether it accepts clients."""
        ...

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self.process is None else self.process.poll()

    def start(self) -> None:
        self.process = spawned(
            self.command(), self.folder / "log", account=self.account, cwd=self.folder, death=self.death
        )
        deadline = time.monotonic() + LIMIT
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise FailedStart(f"{self.title} did not start:\n{tail_of(self.folder / 'log')}")
            time.sleep(0.02)

    def stop(self) -> None:
        """In good order. Clients are cut off."""
        self.end(signal.SIGINT)

    def end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(LIMIT)
            self.process = None


def spawned(
    command: Sequence[str | Path],
    output: Path,
    *,
    environment: Mapping[str, str] | None = None,
    account: Account | None = None,
    cwd: Path | None = None,
    death: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """A child in a session of its own, so that a Ctrl-C in the terminal does not reach it. It ends with this thread."""
    prctl = ctypes.CDLL(None).prctl
    with output.open("ab") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, death),
            env=environment,
            cwd=cwd,
            user=account.uid if account else None,
            group=account.gid if account else None,
        )


def unprivileged() -> Account | None:
    """For programs that refuse to run as root; None if this process is not root."""
    if os.getuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


def found_program(name: str, beside: Path) -> str | None:
    """The program in a folder, else on the PATH."""
    return shutil.which(name, path=beside) or shutil.which(name)


def tail_of(output: Path) -> str:
    return "\n".join(output.read_text(errors="replace").splitlines()[-20:])
