import pytest
from hypothesis import settings

pytest_plugins = ["pytester", "tests.quarantine"]

settings.register_profile("everyagent", deadline=None)  # a test's time depends on the machine's load
settings.load_profile("everyagent")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
