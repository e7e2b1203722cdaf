"""The suite that every implementation of `Log` must pass.

Make a test class of it and give it a fixture `store`, storage that is empty at first:

    class TestMyLog(LogConformance):
        @pytest.fixture
        def store(self, tmp_path) -> LogStore: ...
"""

from collections.abc import AsyncIterator

import pytest

from everyagent.log.log import Log
from everyagent.testing.log_rules.auditing import AuditingRules
from everyagent.testing.log_rules.counting import CountingRules
from everyagent.testing.log_rules.projecting import ViewingRules
from everyagent.testing.log_rules.reading import ReadingRules
from everyagent.testing.log_rules.recording import RecordingRules
from everyagent.testing.log_rules.samples import LogStore
from everyagent.testing.log_rules.separating import SeparatingRules
from everyagent.testing.log_rules.tailing import TailingRules
from everyagent.testing.log_rules.writing import WritingRules

__all__ = ["LogConformance", "LogStore"]


class LogConformance(
    WritingRules,
    ReadingRules,
    TailingRules,
    RecordingRules,
    ViewingRules,
    SeparatingRules,
    AuditingRules,
    CountingRules,
):
    """A test may close `log` itself and open it again: closing twice is no error."""

    @pytest.fixture
    async def log(self, store: LogStore) -> AsyncIterator[Log]:
        log = await store.open()
        yield log
        await log.close()
