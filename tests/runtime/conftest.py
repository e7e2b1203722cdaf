from collections.abc import AsyncGenerator

import pytest

from everyagent.runtime.reaper import Reaper


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both event loops, because they watch descriptors differently."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
async def reaper() -> AsyncGenerator[Reaper]:
    reaper = Reaper()
    yield reaper
    await reaper.close()
