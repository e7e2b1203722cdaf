from collections.abc import Iterator

import pytest
from fake_daemon import FakeDaemon, serving


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    with serving(FakeDaemon()) as running:
        yield running
