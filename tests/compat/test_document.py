from pathlib import Path

from tests.compat.document import PAGE, page
from tests.compat.results import IN_MAKE_TEST, by_name
from tests.compat.rows import owned


def test_the_page_has_the_results_that_are_checked_in() -> None:
    assert page() == PAGE.read_text()


def test_every_result_that_make_test_has_is_checked_by_a_test() -> None:
    results, checked = by_name(), owned(Path(__file__).parents[1])
    assert {name for name, result in results.items() if result.when == IN_MAKE_TEST} - checked == set()
