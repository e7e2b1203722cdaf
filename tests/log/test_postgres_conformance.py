"""The conformance suite, run on the PostgreSQL log."""

from pathlib import Path

import pytest

from everyagent.clock import SystemClock
from everyagent.log.blob_stores.store import BlobStore
from everyagent.log.log import Log
from everyagent.log.postgres import PostgresLog
from everyagent.testing.log_conformance import LogConformance, LogStore


class PostgresStore:
    def __init__(self, url: str, folder: Path, outside: BlobStore | None = None) -> None:
        self._url = url
        self._folder = folder
        self._outside = outside

    async def open(self, *, heartbeat: float = 10.0, recent_bytes: int = 1 << 20) -> Log:
        return await PostgresLog.open(
            self._url,
            self._folder,
            SystemClock(),
            outside=self._outside,
            heartbeat=heartbeat,
            recent_bytes=recent_bytes,
        )


class TestPostgresLog(LogConformance):
    @pytest.fixture
    def store(self, tmp_path: Path, postgres_url: str) -> LogStore:
        return PostgresStore(postgres_url, tmp_path)
