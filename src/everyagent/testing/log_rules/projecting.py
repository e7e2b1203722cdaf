"""Rules of projections: committed together with the events they are derived from, and read like them."""

import asyncio

import pytest
from msgspec.structs import replace

from everyagent.errors import LogConflict, SessionNotFound
from everyagent.log.log import Append, EventQuery, Input, Log, SessionRecord
from everyagent.log.projections import PROJECTION, SUPERSEDED, NewProjection, ProjectionQuery, ProjectionStep
from everyagent.log.records import Insert
from everyagent.testing.log_rules.samples import (
    LIMIT,
    START,
    event,
    events,
    new_session,
    read_until,
    record,
    sequences,
    whole,
)


def new_projection(agent_id: str = "agent_1", version: int = 1) -> NewProjection:
    return NewProjection(
        agent_id=agent_id, agent_version=version, environment_id="env_1", status="idle", state=b"{}", document=b"{}"
    )


async def projected_session(
    log: Log, session_id: str = "one", projection: NewProjection | None = None
) -> SessionRecord:
    return await log.create(record(session_id), [event(1)], projection=projection or new_projection())


def step(session: SessionRecord, head: int, count: int, projection: ProjectionStep | None) -> Append:
    return Append(
        session=session.number,
        epoch=session.epoch,
        expected=head,
        at=START + head + 1,
        events=events(head + 1, head + count),
        projection=projection,
    )


def projection_step(expected: int, count: int, status: str = "running", **more: object) -> ProjectionStep:
    added = events(expected + 1, expected + count)
    return ProjectionStep(expected=expected, status=status, state=b"state %d" % expected, events=added, **more)  # pyright: ignore[reportArgumentType]


class ViewingRules:
    async def test_a_view_is_there_with_the_step_that_made_it(self, log: Log) -> None:
        session = await projected_session(log)
        await log.append(step(session, 1, 2, projection_step(0, 3)))
        found = await log.projection("one")
        assert (found.session, found.head, found.status, found.state) == (session.number, 3, "running", b"state 0")
        assert sequences(await whole(log, session.number | PROJECTION)) == [1, 2, 3]
        page = await log.joined("one", EventQuery(session=0, after=1, limit=1), projection=True)
        assert (len(page.split()), page.more, page.head) == (1, True, 3)
        assert sequences(await whole(log, session.number)) == [1, 2, 3]

    async def test_a_view_at_the_wrong_place_refuses_the_whole_step(self, log: Log) -> None:
        session = await projected_session(log)
        with pytest.raises(LogConflict):
            await log.append(step(session, 1, 1, projection_step(2, 1)))
        assert (await log.session("one")).last_sequence == 1
        assert (await log.projection("one")).head == 0

    async def test_a_step_refused_writes_nothing_of_its_view(self, log: Log) -> None:
        session = await projected_session(log)
        with pytest.raises(LogConflict):
            await log.append(step(session, 5, 1, projection_step(0, 1)))
        assert (await log.projection("one")).head == 0
        assert await whole(log, session.number | PROJECTION) == []

    async def test_what_is_told_again_is_passed_over_by_its_type(self, log: Log) -> None:
        session = await projected_session(log)
        await log.append(step(session, 1, 0, projection_step(0, 2)))
        await log.append(step(session, 1, 0, projection_step(2, 1, superseded=[1], hidden=1)))
        found = await whole(log, session.number | PROJECTION)
        assert [stored.type == SUPERSEDED for stored in found] == [True, False, False]
        query = EventQuery(session=0, types=frozenset({found[1].type}))
        assert len((await log.joined("one", query, projection=True)).split()) == 2
        assert (await log.projection("one")).hidden == 1

    async def test_a_view_can_be_tailed_and_is_not_in_the_feed(self, log: Log) -> None:
        session = await projected_session(log)
        feed, tail = log.feed(None), log.tail(session.number | PROJECTION, 0)
        waiting = asyncio.ensure_future(read_until(tail, 2))
        await log.append(step(session, 1, 0, projection_step(0, 1)))
        await log.append(step(session, 1, 1, projection_step(1, 1)))
        assert sequences(await waiting) == [1, 2]
        async with asyncio.timeout(LIMIT):
            chunk = await anext(feed)
        assert chunk is not None
        assert (chunk.session, chunk.first) == (session.number, 2)

    async def test_a_pair_tells_no_view_before_its_source(self, log: Log) -> None:
        session = await projected_session(log)
        pairs = log.paired_tail(session.number, 1, 0)
        seen: list[tuple[str, int]] = []

        async def read() -> None:
            async with asyncio.timeout(LIMIT):
                while ("projection", 3) not in seen:
                    pair = await anext(pairs)
                    if pair and pair.events:
                        seen.extend(("event", stored.sequence) for stored in pair.events.events)
                    if pair and pair.projection:
                        seen.extend(("projection", stored.sequence) for stored in pair.projection.events)

        reader = asyncio.ensure_future(read())
        await log.append(step(session, 1, 2, projection_step(0, 1)))
        await log.append(step(session, 3, 0, projection_step(1, 1)))
        await log.append(step(session, 3, 1, projection_step(2, 1)))
        await reader
        assert [number for kind, number in seen if kind == "projection"] == [1, 2, 3]
        assert [number for kind, number in seen if kind == "event"] == [2, 3, 4]
        assert seen.index(("event", 3)) < seen.index(("projection", 1))
        assert seen.index(("event", 4)) < seen.index(("projection", 3))

    async def test_a_deleted_session_ends_the_tail_of_its_view(self, log: Log) -> None:
        session = await projected_session(log)
        await log.append(step(session, 1, 0, projection_step(0, 1)))
        tail = log.tail(session.number | PROJECTION, 0)
        assert sequences(await read_until(tail, 1)) == [1]
        await log.delete("one")
        async with asyncio.timeout(LIMIT):
            with pytest.raises(StopAsyncIteration):
                await anext(tail)
        with pytest.raises(SessionNotFound):
            await log.projection("one")

    async def test_views_are_listed_by_what_they_are(self, log: Log) -> None:
        one = await projected_session(log, "one", new_projection("agent_1", 1))
        two = await projected_session(log, "two", new_projection("agent_1", 2))
        await new_session(log, "none")
        three = await projected_session(log, "three", new_projection("agent_2", 1))
        await log.append(step(two, 1, 0, projection_step(0, 1, "running")))
        await log.append(step(three, 1, 0, projection_step(0, 1, "terminated", archived_at=START)))

        async def ids(query: ProjectionQuery) -> list[str]:
            return [found.session_id for found in await log.projections(query)]

        assert await ids(ProjectionQuery()) == ["two", "one"]
        assert await ids(ProjectionQuery(archived=True, order="asc")) == ["one", "two", "three"]
        assert await ids(ProjectionQuery(agent_id="agent_1", agent_version=2)) == ["two"]
        assert await ids(ProjectionQuery(statuses=["running", "terminated"], archived=True)) == ["three", "two"]
        assert await ids(ProjectionQuery(after=one.number, order="asc")) == ["two"]
        assert await ids(ProjectionQuery(before=two.number)) == ["one"]
        assert await ids(ProjectionQuery(since=START + 1, archived=True)) == []
        assert await ids(ProjectionQuery(until=START + 1, limit=1)) == ["two", "one"]

    async def test_views_without_an_environment_are_not_listed(self, log: Log) -> None:
        await projected_session(log, "one", new_projection("agent_1", 1))
        await projected_session(log, "two", replace(new_projection("agent_1", 1), environment_id=""))
        assert [found.session_id for found in await log.projections(ProjectionQuery())] == ["one"]
        listed = await log.projections(ProjectionQuery(unlisted=True, order="asc"))
        assert [found.session_id for found in listed] == ["one", "two"]

    async def test_views_are_listed_by_what_belongs_to_their_sessions(self, log: Log) -> None:
        for name in ("one", "two", "three"):
            await projected_session(log, name, new_projection("agent_1", 1))
        of_one = Insert(kind="thing", id="a", parent="one", key="same", body=b"{}")
        of_two = Insert(kind="thing", id="b", parent="two", key="other", body=b"{}")
        of_three = Insert(kind="another", id="c", parent="three", key="same", body=b"{}")
        await log.records.write(of_one, of_two, of_three)
        assert [found.session_id for found in await log.projections(ProjectionQuery(owning=("thing", "same")))] == [
            "one"
        ]
        assert await log.projections(ProjectionQuery(owning=("thing", "none"))) == []

    async def test_a_view_can_be_written_anew(self, log: Log) -> None:
        session = await projected_session(log)
        await log.append(step(session, 1, 0, projection_step(0, 3)))
        await log.rewrite_projection(session.number, projection_step(0, 2, "idle"), [START, START + 9])
        found = await log.projection("one")
        assert (found.head, found.status) == (2, "idle")
        assert sequences(await whole(log, session.number | PROJECTION)) == [1, 2]
        page = await log.events(EventQuery(session=session.number | PROJECTION, since=START + 1))
        assert sequences(page.events) == [2]

    async def test_inputs_of_a_step_wait_with_it(self, log: Log) -> None:
        session = await new_session(log)
        both = step(session, 1, 1, None)
        both.inputs = [Input(item_id="itm_1", body=b"{}"), Input(item_id="itm_2", body=b"{}")]
        await log.append(both)
        assert [waiting.item_id for waiting in await log.inputs(session.number)] == ["itm_1", "itm_2"]
        assert (await log.session("one")).queued_inputs == 2
