import pytest
from hypothesis import settings

#: No test is about how long an example takes: a busy machine is slow.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
