"""Starts every child process of the daemon: marked, with a given environment, and kept together with its descendants.

`process.py` uses it for agents, `command.py` for programs that run to their end.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from everyagent.runtime import wall as walls
from everyagent.runtime.limits import UNLIMITED, ProcessLimits
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.wall import Wall

#: Ends a program that is `bound`, with all its descendants, if its parent process gets it.
END_SIGNAL = signal.SIGUSR1


class Spawned(NamedTuple):
    """A running child. `mark` identifies it and its descendants for the reaper."""

    child: subprocess.Popen[bytes]
    mark: str


def spawn(
    argv: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    reaper: Reaper,
    wall: Wall | None = None,
    limits: ProcessLimits = UNLIMITED,
    network: socket.socket | None = None,
    bound: bool = False,
    stdin: int | IO[bytes] = subprocess.PIPE,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
) -> Spawned:
    """Start a program in a session of its own; blocking. `environment` is all that it gets. Raises `OSError`.

    On Linux, a parent process collects what leaves its parents, so that the whole tree can be ended. Over `network`,
    a socket arrives that listens in a network namespace for the program's commands; this needs a wall. A program that
    is `bound` ends with the calling thread; this needs Linux, and no container.
    """
    if shutil.which(argv[0], path=environment.get("PATH")) is None:
        raise FileNotFoundError(argv[0])
    if not directory.is_dir():
        raise NotADirectoryError(directory)
    mark = secrets.token_hex(8)
    podman = wall.podman if wall else None
    walled = wall is not None and podman is None
    words = [("level", "namespace" if walled else "none"), ("cwd", str(directory))]
    words += wall.steps if wall is not None and walled else ()
    sockets = [network.fileno()] if network else []
    words += limits.words(walled=walled)
    words += [("network", str(descriptor)) for descriptor in sockets]
    words += [("bound", str(os.getpid()))] if bound else []

    marks = reaper.marks(mark)

    def popen(
        argv: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=directory,
            env=environment,
            bufsize=0,
            start_new_session=True,
            pass_fds=descriptors,
        )

    if sys.platform != "linux":
        return Spawned(popen(argv, {**environment, **marks}, ()), mark)
    with walls.entry(words, argv, {**environment, **marks}) as (entry, given):
        if not (wall and podman):
            return Spawned(popen(entry, marks, [given, *sockets]), mark)
        run = podman.command(wall, entry, str(directory), mark)
        outer = [("level", "none"), ("cwd", "/"), ("descriptor", f"{given}={podman.descriptor}")]
        with walls.entry(outer, run, {**podman.environment(), **marks}) as (entry, words_of_podman):
            return Spawned(popen(entry, marks, [words_of_podman, given]), mark)
