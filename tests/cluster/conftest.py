from collections.abc import Generator

import pytest

from tests.cluster.watched_nats import WatchedNats


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Generator[WatchedNats]:
    server = WatchedNats(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.stop()
