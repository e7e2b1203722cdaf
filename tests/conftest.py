import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres.server import PostgresServer
from tests.s3.server import S3Server

pytest_plugins = ["pytester", "tests.quarantine"]

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each daemon would compile all its modules again
# A test's time depends on the machine's load.
settings.register_profile("everyagent", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("everyagent")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test comes first, so that one worker does not run it alone at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/torture/"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, one for each process that runs tests."""
    server = PostgresServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The address of an empty schema: quicker to make than a database."""
    return postgres.new_schema()


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server, one for each process that runs tests."""
    server = S3Server()
    server.start()
    yield server
    server.close()
