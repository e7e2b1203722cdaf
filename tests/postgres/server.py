"""A PostgreSQL server for tests and benchmarks: the real program, from a wheel, in a temporary folder."""

import shutil
import signal
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import LiteralString, cast

import psutil
import psycopg

from everyagent.dev_cluster import postgres
from everyagent.dev_cluster.server import LIMIT
from tests.pausing import pause


class PostgresServer(postgres.PostgresServer):
    """Started by `start`. Without `durable`, commits do not wait for the disk."""

    def __init__(self, *, durable: bool = False, options: Mapping[str, str] = {}) -> None:
        folder = Path(tempfile.mkdtemp(prefix="everyagent-pg-", dir="/tmp"))
        super().__init__(folder, durable=durable, options=options)

    def schema_url(self, schema: str = "public", *, port: int | None = None) -> str:
        """`port` is that of a proxy."""
        return f"postgresql://everyagent@127.0.0.1:{port or self.port}/postgres?options=-csearch_path%3D{schema}"

    def kill(self) -> None:
        """kill -9 of the whole server. Its processes are in sessions of their own."""
        assert self.process is not None
        pause(self.process.pid)  # no child is made that would outlive it
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, LIMIT)
        self.process.wait(LIMIT)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        self.end(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def new_schema(self) -> str:
        """Makes an empty schema; returns its address."""
        schema = f"test_{uuid.uuid4().hex}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.schema_url(schema)

    def execute(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        with psycopg.connect(url or self.schema_url(), autocommit=True) as connection:
            cursor = connection.execute(cast("LiteralString", statement))
            return cursor.fetchall() if cursor.description else []
