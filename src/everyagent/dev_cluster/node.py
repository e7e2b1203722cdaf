"""A node of the cluster: `everyagent serve --cluster` as a child process."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from everyagent.config import default_data_dir
from everyagent.dev_cluster.server import LIMIT, FailedStart, spawned, tail_of

_ADDRESS = re.compile(r"everyagent listens on (http://\S+)")


class DevNode:
    """Started on a free port. `folder` is made, and is its own."""

    def __init__(self, number: int, folder: Path, flags: Sequence[str], environment: Mapping[str, str]) -> None:
        self.number = number
        self.data_dir = folder / "data"
        self.url = ""
        self._output = folder / "log"
        self._flags = flags
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.data_dir.mkdir(mode=0o700, parents=True)
        installed = default_data_dir() / "agents"
        if installed.is_dir():
            (self.data_dir / "agents").symlink_to(installed)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        theirs = {name: value for name, value in os.environ.items() if not name.startswith("EVERYAGENT_")}
        flags = ["--cluster", "--host", "127.0.0.1", "--port", "0", "--data-dir", str(self.data_dir), *self._flags]
        self._process = spawned(
            [sys.executable, "-m", "everyagent", "serve", *flags],
            self._output,
            environment={**theirs, **self._environment},
        )
        deadline = time.monotonic() + LIMIT
        while (found := _ADDRESS.search(self._output.read_text(errors="replace"))) is None:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise FailedStart(f"Node {self.number} did not start:\n{tail_of(self._output)}")
            time.sleep(0.02)
        self.url = found[1]

    def terminate(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """After `terminate`. A node that does not end in time is killed."""
        if self._process is None:
            return
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
