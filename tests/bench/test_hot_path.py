"""The cost of an event, in bytecode instructions: a regression shows here, whatever the machine does besides."""

import sys

import pytest
from bench.hot_path import LINES, HotPath

#: Instructions for each line of a flood, by version of Python. A change that makes it cheaper lowers the figure.
COMMITTED = {(3, 11): 396.0}
TOLERANCE = 0.10


@pytest.fixture(scope="module")
def hot_path(tmp_path_factory: pytest.TempPathFactory) -> HotPath:
    path = HotPath(tmp_path_factory.mktemp("hot"))
    for _ in range(3):
        path.run()
    return path


def test_each_line_is_one_event_of_the_stream(hot_path: HotPath):
    frames = hot_path.run()
    assert frames.count(b'"type":"item.delta"') == frames.count(b"\nevent: message\ndata: ") == LINES


@pytest.mark.skipif(sys.version_info[:2] not in COMMITTED, reason="other versions of Python have other bytecode")
def test_an_event_costs_no_more_instructions_than_before(hot_path: HotPath):
    committed = COMMITTED[sys.version_info[:2]]
    counted = hot_path.instructions()
    assert counted == pytest.approx(committed, rel=TOLERANCE), (
        f"{counted:.1f} bytecode instructions an event, {committed} when it was measured last: "
        "find out why, or write the new figure here if it is meant"
    )
