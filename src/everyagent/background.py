"""Work that goes on for as long as the daemon does: a fault of it must not end the daemon."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import anyio

from everyagent.logs import get_logger

#: Seconds before failed work is begun again.
PAUSE = 5.0

T = TypeVarTuple("T")
logger = get_logger(__name__)


async def keep_running(name: str, work: Callable[[*T], Awaitable[None]], *args: *T) -> None:
    """Run `work` until it returns. Whatever it raises is logged, and it is begun again."""
    while True:
        try:
            return await work(*args)
        except Exception:
            logger.exception("work in the background failed, and is begun again", work=name, seconds=PAUSE)
        await anyio.sleep(PAUSE)
