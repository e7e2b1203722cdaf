"""Readers with a filter get exactly the events of their types; those with the same filter share them."""

import asyncio
from collections.abc import AsyncIterator

import anyio

from everyagent.log.chunk import KEPT_VALUES, EventChunk
from everyagent.log.log import StoredEvent
from tests.sessions.conftest import Talk
from tests.waiting import LIMIT_SECONDS

TYPES = ["item.delta", "turn.ended"]


async def test_a_filter_keeps_the_order_and_omits_nothing_of_its_types(opened, create):
    async with opened() as sessions:
        talk: Talk = await create(sessions)
        for words in (1, 300, 2):
            await talk.say(f"[text words={words}]")
        events = await talk.events()
        tail = await sessions.tail(talk.id, after=0, types=TYPES, raw=False)
        wanted = [event.sequence for event in events if event.type in TYPES]
        assert [event.sequence for event in await _until(tail, wanted[-1])] == wanted


async def test_readers_with_the_same_filter_share_what_they_get(opened, create):
    async with opened() as sessions:
        talk: Talk = await create(sessions)
        await talk.say("[hello]")
        end = (await talk.info()).event_count
        tails = [await sessions.tail(talk.id, after=end, types=types, raw=False) for types in (TYPES, TYPES[::-1])]
        waiting = [asyncio.ensure_future(anext(tail)) for tail in tails]
        await talk.send("[text words=20]")
        with anyio.fail_after(LIMIT_SECONDS):
            first, second = await asyncio.gather(*waiting)
        assert first is not None
        assert first is second


def test_a_chunk_keeps_a_bounded_number_of_derived_values():
    chunk = EventChunk(1, [StoredEvent(1, 1, b"{}")])
    made: list[int] = []

    def maker(number: int):
        def make(_: EventChunk) -> int:
            made.append(number)
            return number

        return make

    makers = [maker(number) for number in range(KEPT_VALUES + 2)]
    for _ in range(2):
        assert [chunk.derived(make, sum) for make in makers] == list(range(len(makers)))
    assert made == [*range(len(makers)), *range(KEPT_VALUES, len(makers))]


async def _until(tail: AsyncIterator[EventChunk | None], end: int) -> list[StoredEvent]:
    found: list[StoredEvent] = []
    with anyio.fail_after(LIMIT_SECONDS):
        while not found or found[-1].sequence < end:
            chunk = await anext(tail)
            found += chunk.events if chunk else ()
    return found
