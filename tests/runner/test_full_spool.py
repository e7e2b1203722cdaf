"""A runner whose disk is full."""

from pathlib import Path

import apsw
import pytest

from everyagent.runner.spool import Spool, SpoolFailed


def test_a_full_disk_is_reported_in_a_sentence_and_keeps_what_was_written(tmp_path: Path):
    spool = Spool(tmp_path / "spool.db")
    spool.begin("one", 7)
    spool.add("one", 7, 1, b"x" * 1000)
    limited = spool._database.execute("PRAGMA max_page_count = 1").fetchall()  # pyright: ignore[reportPrivateUsage]
    assert limited
    with pytest.raises(SpoolFailed, match="Make room") as raised:
        spool.add("one", 7, 2, b"x" * 1_000_000)
    assert isinstance(raised.value.__cause__, apsw.FullError)
    assert spool.pending("one", 7, 0, 1 << 20) == [b"x" * 1000]
    assert [(each.last, each.ended) for each in spool.conversations()] == [(1, False)]
    assert spool.bytes == 1000
    spool.close()
