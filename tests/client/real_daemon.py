"""The real daemon in its own process, and a TCP relay that breaks connections."""

import os
import random
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

COMMAND = [sys.executable, "-c", "from everyagent.cli.main import main; main()"]
WORDS = ["serve", "--port", "0", "--json", "--default-agent", "mock"]


class RealDaemon(NamedTuple):
    url: str
    token: str


@contextmanager
def real_daemon(data_dir: Path) -> Generator[RealDaemon]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVERYAGENT_")}
    environment |= {"EVERYAGENT_DATA_DIR": str(data_dir), "EVERYAGENT_CONFIG": str(data_dir / "config.toml")}
    with subprocess.Popen(COMMAND + WORDS, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout
        said = msgspec.json.decode(process.stdout.readline())
        try:
            yield RealDaemon(said["url"], said["token"])
        finally:
            process.terminate()
            process.wait(30)


class Wire(socketserver.ThreadingTCPServer):
    """Relays bytes to the daemon and back. `cuts` is how many more connections break after a random number of bytes."""

    daemon_threads = True

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.cuts = 0
        self.port = port
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def budget(self) -> float:
        """After how many bytes of the response the next connection breaks."""
        with self._lock:
            if not self.cuts:
                return float("inf")
            self.cuts -= 1
            return self._chance.randrange(4000)


class Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Wire)
        assert isinstance(self.request, socket.socket)
        with socket.create_connection(("127.0.0.1", self.server.port)) as there:
            answers = threading.Thread(target=pass_on, args=(there, self.request, self.server.budget()))
            answers.start()
            names = (self.server.url.removeprefix("http://").encode(), b"127.0.0.1:%d" % self.server.port)
            pass_on(self.request, there, float("inf"), names)
            answers.join()


def pass_on(source: socket.socket, target: socket.socket, left: float, names: tuple[bytes, bytes] = (b"", b"")) -> None:
    """Copy until the source ends or `left` bytes are copied, then close both ends.

    `names` are the relay's address and the daemon's, to rewrite the Host header.
    """
    try:
        while left > 0 and (piece := source.recv(int(min(65_536, left)))):
            left -= len(piece)
            target.sendall(piece.replace(*names) if names[0] else piece)
    except OSError:
        left = 0
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue


@contextmanager
def breaking_wire(url: str, seed: int = 1) -> Generator[Wire]:
    with Wire(int(url.rpartition(":")[2]), seed) as wire:
        thread = threading.Thread(target=wire.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield wire
        finally:
            wire.shutdown()
            thread.join(10)
