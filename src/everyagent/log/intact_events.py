"""Reads the events of a session for the daemon itself, which must go on if one of them is damaged."""

from collections.abc import AsyncIterator

from msgspec.structs import replace

from everyagent.errors import LogDamaged
from everyagent.log.log import EventQuery, Log, StoredEvent


async def intact_events(log: Log, query: EventQuery) -> AsyncIterator[StoredEvent]:
    """All events of an ascending query, page by page, without damaged ones."""
    while True:
        try:
            page = await log.events(query)
        except LogDamaged as error:
            if error.sequence <= query.after:
                raise
            query = replace(query, after=error.sequence)
            continue
        for stored in page.events:
            yield stored
        if not page.more:
            return
        query = replace(query, after=page.events[-1].sequence)
