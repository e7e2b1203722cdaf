"""Ids have a prefix, sort by creation time and are unique."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from everyagent.model.ids import IdMaker, new_id


@pytest.mark.parametrize("prefix", ["evt_", "itm_", "sess_", "turn_", "perm_", "ques_", "tool_", "req_"])
def test_an_id_has_its_prefix_and_one_length(prefix: str):
    made = new_id(prefix)
    assert made.startswith(prefix)
    assert len(made) == len(prefix) + 26
    assert made.removeprefix(prefix).isalnum()


def test_a_hundred_thousand_ids_are_unique_and_sorted():
    made = [new_id("evt_") for _ in range(100_000)]
    assert all(one < next for one, next in itertools.pairwise(made))


def test_ids_of_two_makers_differ():
    one, other = IdMaker(), IdMaker()
    assert not {one.new("x") for _ in range(10_000)} & {other.new("x") for _ in range(10_000)}


def test_ids_increase_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch):
    maker = IdMaker()
    before = [maker.new("evt_") for _ in range(3)]
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3600 * 10**9)
    after = [maker.new("evt_") for _ in range(3)]
    assert [*before, *after] == sorted({*before, *after})


def test_ids_made_by_several_threads_differ():
    maker = IdMaker()

    def make(_: int) -> list[str]:
        return [maker.new("evt_") for _ in range(5000)]

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(make, range(8)))
    assert len({each for ids in made for each in ids}) == 8 * 5000
    assert all(ids == sorted(ids) for ids in made)


def test_a_series_has_ids_of_the_usual_form_between_those_before_and_after():
    maker = IdMaker()
    series = maker.series("evt_")
    made = [series.new(), maker.new("evt_"), series.new()]
    assert len({*made}) == 3
    assert {len(each) for each in made} == {30}
    assert made[0] < made[2]
