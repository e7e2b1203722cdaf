"""Rules of reading: pages, filters, raw frames, search, listings, and what a deleted session leaves: nothing."""

import msgspec
import pytest

from everyagent.errors import SessionNotFound
from everyagent.log.log import Append, EventQuery, Log, NewEvent, NewFrame, Order, SessionChanges, SessionQuery
from everyagent.model.events import TYPE_NUMBERS
from everyagent.testing.log_rules.samples import (
    DELTA,
    START,
    STARTED,
    event,
    grow,
    new_session,
    queued,
    receipt,
    record,
    sequences,
    whole,
)

COMPLETED = TYPE_NUMBERS["item.completed"]
BIG = 300 << 10
ORDERS: tuple[Order, ...] = ("asc", "desc")


class ReadingRules:
    async def test_the_size_is_that_of_the_database(self, log: Log) -> None:
        session = await new_session(log)
        await grow(log, session, 1, 24)
        stored = (await log.joined(session.session_id, EventQuery(session=0, limit=30))).split()
        assert await log.size() > sum(map(len, stored)) > 0

    async def test_pages_go_forward_from_after_and_backward_from_before(self, log: Log) -> None:
        session = await new_session(log)
        await grow(log, session, 1, 24)
        cases: list[tuple[Order, int, int, range, bool]] = [
            ("asc", 0, 10, range(1, 11), True),
            ("asc", 15, 10, range(16, 26), False),
            ("asc", 16, 10, range(17, 26), False),
            ("asc", 25, 10, range(0), False),
            ("desc", 0, 10, range(25, 15, -1), True),
            ("desc", 11, 10, range(10, 0, -1), False),
            ("desc", 1, 10, range(0), False),
            ("asc", 99, 10, range(0), False),
        ]
        for order, after, limit, found, more in cases:
            page = await log.events(EventQuery(session=session.number, after=after, limit=limit, order=order))
            assert (sequences(page.events), page.more) == (list(found), more), (order, after)
            query = EventQuery(session=0, after=after, limit=limit, order=order)
            joined = await log.joined(session.session_id, query)
            assert (joined.split(), joined.more, joined.head) == ([each.body for each in page.events], more, 25)
        with pytest.raises(SessionNotFound):
            await log.joined("nobody", EventQuery(session=0))

    async def test_pages_hold_the_stored_bytes(self, log: Log) -> None:
        session = await new_session(log)
        await grow(log, session, 1, 3)
        assert [stored.body for stored in await whole(log, session.number)] == [event(n).body for n in range(1, 5)]

    async def test_a_filter_by_text_finds_what_the_events_hold_in_any_case(self, log: Log) -> None:
        session = await new_session(log)
        words = ("Straße", 'a \\"b\\"', "100% _x_", "ÄPFEL für ΟΔΟΣ", "[a-z]* \\\\ ✓?")
        bodies = [f'{{"n":{n},"said":"{word}","raw":null}}' for n, word in enumerate(words, 2)]
        step = Append(
            session=session.number,
            epoch=0,
            expected=1,
            at=START,
            events=[NewEvent(n, DELTA, 0, body.encode()) for n, body in enumerate(bodies, 2)],
        )
        await log.append(step)
        expected = {"strasse": [], "straße": [2], "straẞe": [2], '"b"': [3], "0% _": [4], "SAID": [2, 3, 4, 5, 6]}
        expected |= {
            "äpfel FÜR": [5],
            "οδος": [5],
            "apfel": [],
            "[a-z]*": [6],
            "[a": [6],
            "✓?": [6],
            "?": [6],
            "\\": [6],
        }
        for text, found in expected.items():
            for cased in (text, text.lower(), text.upper() if "ß" not in text else text):
                for order in ORDERS:
                    page = await log.events(EventQuery(session=session.number, text=cased, order=order))
                    assert sorted(sequences(page.events)) == found, cased

    async def test_filters_by_type_and_time_hold_together(self, log: Log) -> None:
        session = await new_session(log)
        for head in range(1, 41):
            kind = COMPLETED if head % 4 == 0 else DELTA
            step = Append(
                session=session.number,
                epoch=0,
                expected=head,
                at=START + 10 * head,
                events=[event(head + 1, type=kind)],
            )
            await log.append(step)
        completed = [head + 1 for head in range(1, 41) if head % 4 == 0]
        query = EventQuery(session=session.number, types=frozenset({COMPLETED}), limit=4)
        page = await log.events(query)
        assert (sequences(page.events), page.more) == (completed[:4], True)
        assert {stored.type for stored in page.events} == {COMPLETED}
        page = await log.events(msgspec.structs.replace(query, order="desc", after=completed[3]))
        assert (sequences(page.events), page.more) == (completed[2::-1], False)
        page = await log.events(msgspec.structs.replace(query, types=frozenset({COMPLETED, STARTED}), limit=100))
        assert sequences(page.events) == [1, *completed]
        page = await log.events(EventQuery(session=session.number, since=START + 50, until=START + 80))
        assert sequences(page.events) == [6, 7, 8]
        page = await log.events(EventQuery(session=session.number, since=START + 45, until=START + 81, order="desc"))
        assert sequences(page.events) == [9, 8, 7, 6]
        page = await log.events(EventQuery(session=session.number, since=START + 10_000))
        assert page.events == []

    async def test_raw_is_the_frame_in_place_of_null_on_one_line(self, log: Log) -> None:
        session = await new_session(log)
        frames = [
            NewFrame(1, "from_agent", "json", b'{"a":\r\n[1,2]}', 2, 3),
            NewFrame(2, "from_agent", "text", b'no "json"\n', 4, 4),
            NewFrame(3, "from_agent", "bytes", b"\xff\x00", 5, 5),
        ]
        made = [event(2, frame=1), event(3, frame=1), event(4, frame=2), event(5, frame=3), event(6)]
        step = Append(session=session.number, epoch=0, expected=1, at=START, events=made, frames=frames)
        await log.append(step)
        for limit in (2, 10):
            query = EventQuery(session=session.number, after=1, limit=limit, raw=True)
            bodies = [stored.body for stored in (await log.events(query)).events]
            assert not any(b"\n" in body or b"\r" in body for body in bodies)
            raws = [msgspec.json.decode(body)["raw"] for body in bodies]
            assert raws == [{"a": [1, 2]}, {"a": [1, 2]}, 'no "json"\n', "\\xff\0", None][:limit]
        plain = await log.events(EventQuery(session=session.number, after=1))
        assert [stored.body for stored in plain.events] == [each.body for each in made]

    async def test_big_bodies_come_back_whole(self, log: Log) -> None:
        session = await new_session(log)
        frame = b'{"image":"' + b"A" * (2 * BIG) + b'"}'
        made = [event(2, size=BIG, frame=1), event(3), event(4, size=BIG, frame=1)]
        step = Append(
            session=session.number,
            epoch=0,
            expected=1,
            at=START,
            events=made,
            frames=[NewFrame(1, "from_agent", "json", frame, 2, 4)],
        )
        await log.append(step)
        assert [stored.body for stored in (await whole(log, session.number))[1:]] == [each.body for each in made]
        (info,), _ = await log.frames(session.number, 0, 10)
        assert info.body == {"image": "A" * (2 * BIG)}
        raw = await log.events(EventQuery(session=session.number, after=1, limit=1, raw=True))
        assert raw.events[0].body == made[0].body[:-5] + frame + b"}"
        assert raw.more

    async def test_sessions_are_listed_newest_first_with_one_more_than_asked_for(self, log: Log) -> None:
        made = [await log.create(record(f"s{n}", agent="mock" if n % 2 else "other"), [event(1)]) for n in range(7)]
        listed = await log.sessions(SessionQuery(limit=3))
        assert [each.session_id for each in listed] == ["s6", "s5", "s4", "s3"]
        listed = await log.sessions(SessionQuery(limit=10, before=made[4].number))
        assert [each.session_id for each in listed] == ["s3", "s2", "s1", "s0"]
        listed = await log.sessions(SessionQuery(agent="mock"))
        assert [each.session_id for each in listed] == ["s5", "s3", "s1"]
        step = Append(session=made[3].number, epoch=0, expected=1, at=START, changes=SessionChanges(status="running"))
        await log.append(step)
        assert [each.session_id for each in await log.sessions(SessionQuery(status="running"))] == ["s3"]
        assert await log.sessions(SessionQuery(status="running", agent="other")) == []
        open_before = await log.open_sessions()
        step = Append(session=made[2].number, epoch=0, expected=1, at=START, changes=SessionChanges(status="ended"))
        await log.append(step)
        assert await log.open_sessions() == open_before - 1

    async def test_sessions_are_found_by_directory_metadata_and_time(self, log: Log) -> None:
        odd = {"project": "web", 'a "key"': "it's 100 %", "n": "1"}
        for number, (directory, metadata) in enumerate(
            [("/srv/web", odd), ("/srv/web/sub", {"project": "web"}), ("/srv/api", {"project": "api", "n": "1"})]
        ):
            made = msgspec.structs.replace(
                record(f"session-{number}"),
                config=msgspec.json.encode({"directory": directory}),
                metadata=metadata,
                created_at=START + number,
            )
            await log.create(made, [event(1, type=STARTED)])

        async def found(query: SessionQuery) -> list[str]:
            return [each.session_id[-1] for each in await log.sessions(query)]

        assert await found(SessionQuery(directory="/srv/web")) == ["0"]
        assert await found(SessionQuery(directory="/srv")) == []
        assert await found(SessionQuery(metadata=[("project", "web")])) == ["1", "0"]
        assert await found(SessionQuery(metadata=[("project", "web"), ("n", "1")])) == ["0"]
        assert await found(SessionQuery(metadata=[('a "key"', "it's 100 %")])) == ["0"]
        assert await found(SessionQuery(metadata=[("nobody", "web")])) == []
        assert await found(SessionQuery(since=START + 1)) == ["2", "1"]
        assert await found(SessionQuery(since=START, until=START + 2, metadata=[("project", "web")])) == ["1", "0"]
        assert await found(SessionQuery(agent="mock", directory="/srv/api", until=START + 3, limit=1)) == ["2"]

    async def test_what_a_dead_daemon_left_behind_is_found(self, log: Log) -> None:
        made = [await new_session(log, f"s{n}") for n in range(5)]
        for session, changes in (
            (made[1], SessionChanges(live=True)),
            (made[2], SessionChanges(open_turn=1)),
            (made[4], SessionChanges(live=False, open_turn=0)),
        ):
            await log.append(Append(session=session.number, epoch=0, expected=1, at=START, changes=changes))
        await log.append(queued(made[3], "itm_1"))
        assert [each.session_id for each in await log.unfinished()] == ["s1", "s2", "s3"]

    async def test_search_finds_words_in_all_sessions_or_one(self, log: Log) -> None:
        one, two = await new_session(log, "one"), await new_session(log, "two")
        for session, text in ((one, "The quick brown fox"), (two, "A quick café \ud800 break")):
            step = Append(session=session.number, epoch=0, expected=1, at=START, events=[event(2, text=text)])
            await log.append(step)
        hits = await log.search("quick", None, 10)
        assert {(hit.session_id, hit.sequence) for hit in hits} == {("one", 2), ("two", 2)}
        (hit,) = await log.search("QUICK bro", None, 10)
        assert (hit.session_id, hit.agent) == ("one", "mock")
        assert "brown" in hit.snippet
        assert [hit.session_id for hit in await log.search("cafe", None, 10)] == ["two"]
        assert [hit.session_id for hit in await log.search("quick", two.number, 10)] == ["two"]
        assert len(await log.search("quick", None, 1)) == 1
        for odd in ("", "   ", "!!!", '"', 'quick" OR "fox', "NEAR(", "a*b", "\0", "\ud800", "-", "text:quick"):
            await log.search(odd, None, 10)

    async def test_a_deleted_session_is_gone_and_its_number_is_not_used_again(self, log: Log) -> None:
        session = await new_session(log)
        step = Append(
            session=session.number,
            epoch=0,
            expected=1,
            at=START,
            events=[event(2, size=BIG, text="needle")],
            frames=[NewFrame(1, "from_agent", "json", b"{}", 2, 2)],
            receipt=receipt("key"),
        )
        await log.append(step)
        await log.append(queued(session, "itm_1", head=2))
        await log.delete("one")
        with pytest.raises(SessionNotFound):
            await log.session("one")
        with pytest.raises(SessionNotFound):
            await log.session_by_number(session.number)
        with pytest.raises(SessionNotFound):
            await log.events(EventQuery(session=session.number))
        with pytest.raises(SessionNotFound):
            await log.frames(session.number, 0, 1)
        with pytest.raises(SessionNotFound):
            await grow(log, session, 2, 1)
        with pytest.raises(SessionNotFound):
            await log.delete("one")
        assert await log.search("needle", None, 10) == []
        assert await log.inputs(session.number) == []
        again = await new_session(log)
        assert again.number > session.number
        assert sequences(await whole(log, again.number)) == [1]
