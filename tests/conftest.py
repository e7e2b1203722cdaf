import pytest
from hypothesis import settings

settings.register_profile("everyagent", deadline=None)  # no test is about time
settings.load_profile("everyagent")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
