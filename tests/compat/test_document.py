from tests.compat.document import PAGE, page


def test_the_page_has_the_results_that_are_checked_in() -> None:
    assert page() == PAGE.read_text()
