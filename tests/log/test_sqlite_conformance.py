"""The conformance suite, run on the SQLite log."""

from pathlib import Path

import pytest

from everyagent.clock import SystemClock
from everyagent.log.log import Log
from everyagent.log.sqlite import SqliteLog
from everyagent.testing.log_conformance import LogConformance, LogStore


class SqliteStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def open(self, *, heartbeat: float = 10.0, recent_bytes: int = 1 << 20) -> Log:
        return await SqliteLog.open(self._folder, SystemClock(), heartbeat=heartbeat, recent_bytes=recent_bytes)


class TestSqliteLog(LogConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LogStore:
        return SqliteStore(tmp_path)
