"""Runs programs in threads, and kills them when the waiting task is cancelled."""

import asyncio
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

from everyagent.errors import AgentFailed
from everyagent.runtime import command

T = TypeVar("T")
#: In bytes.
_ERROR_BYTES = 1000
_OUTPUT_BYTES = 16 * 1024 * 1024


class Child:
    """Runs one program at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        output: IO[bytes],
        limit: float,
        folder: Path,
    ) -> int:
        """Blocking. Returns the exit code; output goes to `output`. Raises `subprocess.TimeoutExpired`."""
        with self._lock:
            if self._over:
                raise AgentFailed("It was cancelled.")
            process = self._process = command.start(
                argv, environment=environment, directory=folder, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            return process.wait(limit)
        finally:
            command.finish(process, 0)
            self._process = None

    def output_of(self, argv: Sequence[str], *, environment: Mapping[str, str], limit: float, folder: Path) -> str:
        """Blocking. Returns the output; raises `AgentFailed` with the end of the output when the program fails."""
        with tempfile.TemporaryFile() as output:
            code = self.run(argv, environment=environment, output=output, limit=limit, folder=folder)
            kept = _ERROR_BYTES if code else _OUTPUT_BYTES
            output.seek(max(0, output.seek(0, os.SEEK_END) - kept))
            text = output.read().decode("utf-8", "replace").strip()
        if code:
            raise AgentFailed(text)
        return text

    def end(self) -> None:
        with self._lock:
            self._over = True
            if (process := self._process) is not None:
                command.end(process)


async def in_thread(work: Callable[[Child], T]) -> T:
    child = Child()
    try:
        return await asyncio.to_thread(work, child)
    except asyncio.CancelledError:
        child.end()
        raise
