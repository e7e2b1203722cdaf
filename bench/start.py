"""Time from the start of the process to the first 200 of `/v1/health`."""

import socket
import subprocess
import sys
import time
from pathlib import Path

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import folder
from everyagent.client import Client
from everyagent.runtime.ports import free_port

STANDARD = Standard(bar=500, goal=250, best="low")
POLL_SECONDS = 0.002
LIMIT_SECONDS = 30.0
TOKEN = "a-token-for-the-bench"


def measure(plan: Plan) -> list[Figure]:
    """Runs alternate, so that other load on the machine affects both."""
    fresh: list[float] = []
    again: list[float] = []
    with folder() as path:
        used = path / "used"
        with Started(used) as daemon:
            _use(daemon.url, path)
        for repeat in range(plan.starts):
            for samples, data_dir in ((fresh, path / f"fresh-{repeat}"), (again, used)):
                with Started(data_dir) as daemon:
                    samples.append(1000 * daemon.seconds)
    load = load_average()
    return [
        Figure(what=what, unit="ms", samples=samples, load=load, standard=STANDARD)
        for what, samples in (
            ("start to the first 200 on /v1/health, new data folder", fresh),
            ("the same, with 100 sessions and 20,000 events", again),
        )
    ]


class Started:
    """A daemon that is timed from its start. It ends with the `with` block."""

    def __init__(self, data_dir: Path) -> None:
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        command = Path(sys.executable).with_name("everyagent")
        flags = ["--port", str(self._port), "--data-dir", str(data_dir), "--token", TOKEN]
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [command, "serve", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not self._healthy():
                if self._process.poll() is not None or time.perf_counter() - began > LIMIT_SECONDS:
                    raise Unmeasured("the daemon did not start")
                time.sleep(POLL_SECONDS)
        except BaseException:
            self._stop()
            raise
        self.seconds = time.perf_counter() - began
        self.pid = self._process.pid

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _healthy(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=LIMIT_SECONDS) as asking:
                asking.sendall(f"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode())
                return asking.recv(4096).startswith(b"HTTP/1.1 200 ")
        except ConnectionError:
            return False

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(LIMIT_SECONDS)


def _use(url: str, directory: Path) -> None:
    """Creates data that the next start has to read."""
    with Client(url, TOKEN) as client:
        for _ in range(99):
            client.create(agent="mock", directory=str(directory))
        client.create("used", agent="mock", directory=str(directory))
        client.run_turn("used", "[flood events=20000 size=200]")
