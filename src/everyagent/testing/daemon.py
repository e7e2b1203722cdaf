"""Runs `everyagent serve` in a subprocess, for tests that restart it, kill it, or use its API."""

import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx2

#: The limit on a start and on a graceful stop.
START_LIMIT_SECONDS = 180.0
TOKEN = "a-token-for-tests"
#: For clients of a daemon on loopback: loading the system's certificates would take 30 ms of CPU for each client.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class DaemonProcess:
    """`everyagent serve` on a free port. It may be killed and started again on the same data folder.

    `environment` is added to the environment of the test. `module` is run in place of `everyagent`, with its arguments.
    `command` is another name of `serve`.
    """

    def __init__(
        self,
        data_dir: Path,
        *flags: str,
        environment: Mapping[str, str] | None = None,
        module: str = "everyagent",
        command: str = "serve",
    ) -> None:
        self.data_dir = data_dir
        self.url = ""
        self._flags = flags
        self._module = module
        self._command = command
        self.environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._printed = data_dir.with_name(f"{data_dir.name}.out")

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {TOKEN}"}

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def start(self, *, port: int = 0) -> float:
        """Starts it and returns the seconds until `/v1/health` answered 200. Port 0 is any free one."""
        words = [self._command, "--port", str(port), "--data-dir", str(self.data_dir), "--token", TOKEN, *self._flags]
        began = time.monotonic()
        with self._printed.open("wb") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module, *words],
                stdout=printed,
                stderr=printed,
                env={**os.environ, **self.environment},
            )
        self.url = self._printed_url(began)
        while not self._healthy():
            self._check_start(began)
        return time.monotonic() - began

    def output(self) -> str:
        """Output of the daemon since its last start."""
        return self._printed.read_text(errors="replace")

    def _printed_url(self, began: float) -> str:
        while True:
            found = re.search(r"http://[\w.\[\]:]+:\d+", self.output())
            if found:
                return found[0]
            self._check_start(began)

    def _check_start(self, began: float) -> None:
        assert self._process
        if self._process.poll() is not None or time.monotonic() - began > START_LIMIT_SECONDS:
            raise AssertionError(f"the daemon did not start:\n{self.output()}")
        time.sleep(0.005)

    def _healthy(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/v1/health", verify=NO_TLS).status_code == 200
        except httpx2.TransportError:
            return False

    def kill(self) -> None:
        """Sends SIGKILL: the daemon cleans nothing up."""
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """Sends SIGTERM and returns the exit code."""
        assert self._process
        if self._process.poll() is None:
            self._process.terminate()
        return self._process.wait(START_LIMIT_SECONDS)
