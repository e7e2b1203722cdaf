"""Runs programs to their end: package managers, git, `AGENT --version`. Blocking: call it in a thread.

A program ends with everything that it started: after its time limit, with the daemon, and if the daemon is killed.
"""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from everyagent.errors import AgentFailed
from everyagent.runtime.reaper import Reaper
from everyagent.runtime.spawn import END_SIGNAL, spawn
from everyagent.runtime.wall import Wall

#: So much of each output is kept.
MAX_OUTPUT = 1 << 20
_KILL_SECONDS = 10.0
_lock = threading.Lock()
_running: "set[subprocess.Popen[bytes]]" = set()


def run(
    argv: Sequence[str], *, environment: Mapping[str, str], limit: float, directory: Path = Path("/")
) -> "subprocess.CompletedProcess[str]":
    """The beginning of its output. `environment` is all that it gets.

    Raises `OSError`, `subprocess.TimeoutExpired`, or `subprocess.CalledProcessError` if its exit code is not 0.
    """
    child = start(argv, environment=environment, directory=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout
    assert child.stderr
    with child.stdout as stdout, child.stderr as stderr:
        try:
            output, errors = _outputs(child, stdout, stderr, limit)
        except BaseException:
            finish(child, 0)
            raise
    code = finish(child, limit)
    done = subprocess.CompletedProcess(argv, code, output.decode(errors="replace"), errors.decode(errors="replace"))
    done.check_returncode()
    return done


def start(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    wall: Wall | None = None,
) -> "subprocess.Popen[bytes]":
    """A program that must be given to `finish` by the same thread."""
    if sys.platform != "linux":
        _reaper().watch()
    child, _ = spawn(
        argv,
        directory=directory,
        environment=environment,
        reaper=_reaper(),
        wall=wall,
        bound=True,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
    )
    with _lock:
        _running.add(child)
    return child


def finish(child: "subprocess.Popen[bytes]", limit: float) -> int:
    """Its exit code. It is ended if it runs longer than `limit` seconds."""
    try:
        try:
            return child.wait(limit)
        except subprocess.TimeoutExpired:
            end(child)
            return child.wait(_KILL_SECONDS)
    except subprocess.TimeoutExpired:
        raise AgentFailed(f"Process {child.pid} could not be killed.") from None
    finally:
        with _lock:
            _running.discard(child)


def end(child: "subprocess.Popen[bytes]") -> None:
    """Kill it with its descendants. Any thread may call this while `finish` waits."""
    if child.poll() is None and sys.platform == "linux":
        child.send_signal(END_SIGNAL)
    elif child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)


def end_all() -> None:
    """End every program that runs, because the daemon stops."""
    with _lock:
        for child in _running:
            end(child)


def _outputs(
    child: "subprocess.Popen[bytes]", stdout: IO[bytes], stderr: IO[bytes], limit: float
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + limit
    kept = {stdout: bytearray(), stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ, kept[pipe])
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(child.args, limit)
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                elif len(key.data) < MAX_OUTPUT:
                    key.data.extend(data)
    return bytes(kept[stdout]), bytes(kept[stderr])


@cache
def _reaper() -> Reaper:
    return Reaper()
