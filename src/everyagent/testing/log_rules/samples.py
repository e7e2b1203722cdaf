"""Sessions, events and steps to fill a log with, and ways to read it whole."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from everyagent.log.chunk import EventChunk
from everyagent.log.log import Append, EventQuery, Input, Log, NewEvent, Receipt, SessionRecord, StoredEvent
from everyagent.model.events import TYPE_NUMBERS

START = 1_700_000_000_000_000
DELTA = TYPE_NUMBERS["item.delta"]
STARTED = TYPE_NUMBERS["session.started"]
#: How long a test waits for what must come.
LIMIT = 30.0


class LogStore(Protocol):
    """Storage that a log can be opened on, closed, and opened on again."""

    async def open(self, *, heartbeat: float = 10.0, recent_bytes: int = 1 << 20) -> Log: ...


def event(sequence: int, *, size: int = 100, type: int = DELTA, frame: int = 0, text: str | None = None) -> NewEvent:
    body = b'{"sequence":%d,"data":"%b","raw":null}' % (sequence, b"x" * size)
    return NewEvent(sequence, type, frame, body, text)


def events(first: int, last: int, *, size: int = 100) -> list[NewEvent]:
    return [event(sequence, size=size) for sequence in range(first, last + 1)]


def record(session_id: str, agent: str = "mock") -> SessionRecord:
    return SessionRecord(
        number=0,
        session_id=session_id,
        agent=agent,
        created_at=START,
        updated_at=START,
        config=b'{"directory":"/"}',
        secrets=b"sealed",
    )


def receipt(key: str, fingerprint: str = "same") -> Receipt:
    return Receipt(key=key, fingerprint=fingerprint, status=200, body=b"{}", headers={"x-item-id": "itm_1"})


async def new_session(log: Log, session_id: str = "one") -> SessionRecord:
    """A session with its first event."""
    return await log.create(record(session_id), [event(1, type=STARTED)])


async def grow(log: Log, session: SessionRecord, head: int, count: int, *, size: int = 100) -> int:
    """Appends `count` events after `head`; the new head."""
    step = Append(
        session=session.number,
        epoch=session.epoch,
        expected=head,
        at=START + head + 1,
        events=events(head + 1, head + count, size=size),
    )
    await log.append(step)
    return head + count


def queued(session: SessionRecord, *item_ids: str, head: int = 1, receipt: Receipt | None = None) -> Append:
    """A step without events that queues messages."""
    inputs = [Input(item_id=item_id, body=item_id.encode()) for item_id in item_ids]
    return Append(session=session.number, epoch=session.epoch, expected=head, at=START, inputs=inputs, receipt=receipt)


async def whole(log: Log, session: int) -> list[StoredEvent]:
    """Every event of a session, read page by page."""
    found: list[StoredEvent] = []
    more = True
    while more:
        page = await log.events(EventQuery(session=session, after=found[-1].sequence if found else 0))
        found += page.events
        more = page.more
    return found


async def read_until(chunks: AsyncIterator[EventChunk | None], last: int) -> list[StoredEvent]:
    """The events that a reader gets up to a sequence, without heartbeats."""
    found: list[StoredEvent] = []
    async with asyncio.timeout(LIMIT):
        while not found or found[-1].sequence < last:
            chunk = await anext(chunks)
            found += chunk.events if chunk else ()
    return found


def sequences(found: Sequence[StoredEvent]) -> list[int]:
    return [stored.sequence for stored in found]
