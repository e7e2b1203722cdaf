"""Measures that `/metrics` takes at each scrape, because nothing counts them as they change."""

import os

from anyio import to_thread
from msgspec import Struct

from everyagent.model.principals import current
from everyagent.runtime.usage import members, process_tree
from everyagent.sessions.sessions import Sessions


class Measures(Struct, frozen=True, kw_only=True):
    """`open_asks` are those that the principal sees. The rest is the machine's, and None for keys of a workspace.

    `agents_memory` is resident, in bytes; pages that processes share count for each of them.
    """

    open_asks: int
    database_bytes: int | None = None
    agents_memory: int | None = None
    agents_processes: int | None = None


async def measured(sessions: Sessions) -> Measures:
    asks = len(await sessions.asks(None, pending=True))
    if current().workspace is not None:
        return Measures(open_asks=asks)
    found = await to_thread.run_sync(_agents)
    return Measures(
        open_asks=asks,
        database_bytes=await sessions.database_bytes(),
        agents_memory=None if found is None else found[0],
        agents_processes=None if found is None else found[1],
    )


def _agents() -> tuple[int, int] | None:
    """The memory and number of all processes below the daemon. None on a system without /proc."""
    try:
        found = members(process_tree(), os.getpid())
    except FileNotFoundError:
        return None
    return sum(each.memory for each in found), len(found)
