"""The torture report says of each row whether it held, and in its time."""

import pytest

from tests.torture.report import Finished, markdown
from tests.torture.row import Outcome, missed


@pytest.mark.parametrize(
    ("outcome", "failure", "result"),
    [
        (Outcome(), "", "passed"),
        (Outcome(partial=["the rest"]), "", "in part"),
        (Outcome(partial=["the rest"], missed=missed("ready", [0.5, 2.5], 2)), "", "**too slow**"),
        (Outcome(missed=missed("ready", [0.5, 2.5], 2)), "it broke", "**failed**"),
    ],
)
def test_only_a_row_that_held_all_its_limits_has_passed(outcome: Outcome, failure: str, result: str) -> None:
    report = markdown([Finished(name="kills", fault="kill -9", outcome=outcome, seconds=1, failure=failure)])
    assert f"| {result} |" in report


def test_the_report_says_how_often_and_by_how_much_a_limit_was_missed() -> None:
    assert missed("ready", [0.5, 2.0], 2) == []
    assert missed("ready", [], 2) == []
    assert missed("ready", [0.5, 2.5, 3], 2) == ["ready within 2 s: 2 of 3 took longer, the longest 3.00 s"]
    outcome = Outcome(missed=missed("ready", [3], 2))
    assert "* too slow: ready within 2 s: 1 of 1" in markdown(
        [Finished(name="kills", fault="kill -9", outcome=outcome, seconds=1)]
    )
