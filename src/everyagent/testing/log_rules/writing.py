"""Rules of writing: a step is atomic, in order, and accepted only from the session's current owner."""

import asyncio

import msgspec
import pytest

from everyagent.errors import (
    AskClosed,
    AskNotFound,
    Conflict,
    KeyReused,
    LogConflict,
    LogFenced,
    SessionExists,
    SessionNotFound,
)
from everyagent.log.log import Append, ClosedAsk, EventQuery, Input, Log, NewAsk, NewFrame, SessionChanges
from everyagent.model.usage import Usage
from everyagent.testing.log_rules.samples import (
    START,
    LogStore,
    event,
    events,
    grow,
    new_session,
    queued,
    receipt,
    record,
    sequences,
    whole,
)


class WritingRules:
    async def test_a_created_session_is_there_with_its_first_events(self, log: Log) -> None:
        made = await log.create(record("one"), events(1, 3), [NewFrame(1, "from_client", "json", b"{}", 1, 3)])
        assert made.number > 0
        assert made == await log.session("one") == await log.session_by_number(made.number)
        assert (made.last_sequence, made.last_frame, made.last_at) == (3, 1, START)
        assert sequences(await whole(log, made.number)) == [1, 2, 3]

    async def test_an_id_is_taken_once(self, log: Log) -> None:
        await new_session(log)
        with pytest.raises(SessionExists):
            await log.create(record("one"), [event(1)])

    async def test_appends_made_at_once_are_committed_in_the_order_of_the_calls(self, log: Log) -> None:
        session = await new_session(log)
        steps = [
            Append(session=session.number, epoch=0, expected=head, at=START, events=events(head + 1, head + 3))
            for head in range(1, 301, 3)
        ]
        await asyncio.gather(*(log.append(step) for step in steps))
        assert sequences(await whole(log, session.number)) == list(range(1, 302))
        assert log.head(session.number) in (None, 301)

    async def test_an_append_at_the_wrong_place_changes_nothing_and_names_the_head(self, log: Log) -> None:
        session = await new_session(log)
        await grow(log, session, 1, 4)
        before = await log.session("one")
        for expected in (0, 3, 6):
            step = Append(
                session=session.number,
                epoch=0,
                expected=expected,
                at=START,
                events=events(expected + 1, expected + 2),
                frames=[NewFrame(1, "from_agent", "json", b"{}", expected + 1, expected + 2)],
                changes=SessionChanges(title="changed"),
                asks=[NewAsk("perm_1", "permission", expected + 1, b"{}")],
                receipt=receipt(f"key {expected}"),
            )
            with pytest.raises(LogConflict) as caught:
                await log.append(step)
            assert caught.value.head == 5
            assert not isinstance(caught.value, LogFenced)
            assert await log.receipt(f"key {expected}") is None
        assert await log.session("one") == before
        assert await log.asks(session.number, pending=False) == []
        assert await log.frames(session.number, 0, 10) == ([], False)

    async def test_a_refused_append_does_not_hold_up_those_beside_it(self, log: Log) -> None:
        one, two = await new_session(log, "one"), await new_session(log, "two")
        bad = Append(session=one.number, epoch=0, expected=7, at=START, events=events(8, 8))
        good = Append(session=two.number, epoch=0, expected=1, at=START, events=events(2, 9))
        results = await asyncio.gather(log.append(bad), log.append(good), return_exceptions=True)
        assert isinstance(results[0], LogConflict)
        assert results[1] is None
        assert sequences(await whole(log, one.number)) == [1]
        assert sequences(await whole(log, two.number)) == list(range(1, 10))

    async def test_appends_of_many_sessions_made_at_once_are_taken_or_refused_each_for_itself(self, log: Log) -> None:
        opened = [await new_session(log, f"session-{number}") for number in range(8)]
        taken_over, ended, behind, *others = opened
        await log.claim(taken_over.session_id)
        await log.delete(ended.session_id)
        changed = others[0]
        frame = NewFrame(1, "from_agent", "json", b"{}", 2, 2)
        first = [
            Append(session=each.number, epoch=each.epoch, expected=1, at=START, events=[event(2)]) for each in opened
        ]
        first[2] = msgspec.structs.replace(first[2], expected=2, events=[event(3)])
        first[3] = msgspec.structs.replace(first[3], changes=SessionChanges(title="Changed"))
        first[4] = msgspec.structs.replace(
            first[4], frames=[frame], events=[event(2, frame=1, text="found by its words")]
        )
        second = [
            Append(session=each.number, epoch=each.epoch, expected=2, at=START + 1, events=[event(3)])
            for each in others
        ]
        outcomes = await asyncio.gather(*map(log.append, (*first, *second)), return_exceptions=True)
        refusals = [type(outcome) for outcome in outcomes if outcome is not None]
        assert refusals == [LogFenced, SessionNotFound, LogConflict]
        for each in others:
            assert sequences(await whole(log, each.number)) == [1, 2, 3]
        assert sequences(await whole(log, behind.number)) == sequences(await whole(log, taken_over.number)) == [1]
        assert (await log.session(changed.session_id)).title == "Changed"
        assert [hit.sequence for hit in await log.search("words", None, 10)] == [2]

    async def test_events_that_are_not_numbered_on_are_refused(self, log: Log) -> None:
        session = await new_session(log)
        for numbers in ([3], [2, 4], [2, 2], [1, 2]):
            step = Append(
                session=session.number, epoch=0, expected=1, at=START, events=[event(number) for number in numbers]
            )
            with pytest.raises(ValueError, match="numbered"):
                await log.append(step)
        assert sequences(await whole(log, session.number)) == [1]

    async def test_whoever_was_taken_over_is_fenced_off(self, log: Log) -> None:
        session = await new_session(log)
        owner = await log.claim("one")
        assert owner.epoch == session.epoch + 1
        with pytest.raises(LogFenced) as caught:
            await grow(log, session, 1, 1)
        assert caught.value.head == 1
        assert await grow(log, owner, 1, 1) == 2
        with pytest.raises(SessionNotFound):
            await log.claim("nobody")

    async def test_everything_in_one_step_is_there_after_it(self, log: Log) -> None:
        session = await new_session(log)
        await log.append(queued(session, "itm_1"))
        changes = SessionChanges(
            status="waiting",
            native_session_id="native",
            model="m",
            title="t",
            metadata={"a": "b"},
            usage=Usage(input_tokens=3),
            cost_usd=0.5,
            open_turn=2,
            live=True,
            config=b"{}",
        )
        step = Append(
            session=session.number,
            epoch=0,
            expected=1,
            at=START + 5,
            events=[event(2, frame=1), event(3, frame=1)],
            frames=[NewFrame(1, "from_agent", "json", b'{"n":1}', 2, 3), NewFrame(2, "to_agent", "text", b"hi", 4, 3)],
            changes=changes,
            asks=[NewAsk("perm_1", "permission", 2, b'{"tool":"bash"}')],
            taken_inputs=["itm_1"],
            receipt=receipt("key"),
        )
        await log.append(step)
        expected = msgspec.structs.replace(
            session,
            last_sequence=3,
            last_frame=2,
            last_at=START + 5,
            updated_at=START + 5,
            status="waiting",
            native_session_id="native",
            model="m",
            title="t",
            metadata={"a": "b"},
            usage=Usage(input_tokens=3),
            cost_usd=0.5,
            open_turn=2,
            live=True,
            config=b"{}",
            pending_asks=1,
            queued_inputs=0,
        )
        assert await log.session("one") == expected
        (ask,) = await log.asks(None, pending=True)
        assert (ask.ask_id, ask.session_id, ask.sequence, ask.asked_at) == ("perm_1", "one", 2, START + 5)
        assert (ask.request, ask.answer) == (b'{"tool":"bash"}', None)
        assert await log.inputs(session.number) == []
        assert await log.receipt("key") == receipt("key")
        frames, more = await log.frames(session.number, 0, 10)
        assert [(frame.number, frame.direction, frame.sequences, frame.body) for frame in frames] == [
            (1, "from_agent", [2, 3], {"n": 1}),
            (2, "to_agent", [], "hi"),
        ]
        assert not more
        assert (await log.frames(session.number, 0, 1))[1]
        assert [frame.number for frame in (await log.frames(session.number, 1, 1))[0]] == [2]

    async def test_an_ask_is_answered_once(self, log: Log) -> None:
        session = await new_session(log)
        ask = NewAsk("perm_1", "permission", 2, b"{}")
        await log.append(Append(session=session.number, epoch=0, expected=1, at=START, events=events(2, 2), asks=[ask]))
        answers = [
            log.append(
                Append(
                    session=session.number,
                    epoch=0,
                    expected=head,
                    at=START,
                    events=events(head + 1, head + 1),
                    closed_asks=[ClosedAsk("perm_1", answer, head + 1)],
                )
            )
            for head, answer in ((2, b'{"reply":"once"}'), (3, b'{"reply":"reject"}'))
        ]
        first, second = await asyncio.gather(*answers, return_exceptions=True)
        assert first is None
        assert isinstance(second, AskClosed)
        assert second.facts == {"firstAnswer": {"reply": "once"}}
        found = await log.ask(session.number, "perm_1")
        assert found is not None
        assert found.answer == b'{"reply":"once"}'
        state = await log.session("one")
        assert (state.pending_asks, state.last_sequence) == (0, 3)
        assert await log.asks(session.number, pending=True) == []
        assert len(await log.asks(session.number, pending=False)) == 1
        with pytest.raises(AskNotFound):
            await log.append(
                Append(
                    session=session.number, epoch=0, expected=3, at=START, closed_asks=[ClosedAsk("perm_2", b"{}", 3)]
                )
            )
        assert await log.ask(session.number, "perm_2") is None

    async def test_inputs_wait_in_the_order_they_came(self, log: Log) -> None:
        session = await new_session(log)
        steps = [queued(session, f"itm_{n}", f"itm_{n + 1}") for n in range(0, 20, 2)]
        await asyncio.gather(*(log.append(step) for step in steps))
        waiting = [Input(item_id=f"itm_{n}", body=b"itm_%d" % n) for n in range(20)]
        assert await log.inputs(session.number) == waiting
        assert (await log.session("one")).queued_inputs == 20
        step = Append(session=session.number, epoch=0, expected=1, at=START, taken_inputs=["itm_0", "itm_5"])
        await log.append(step)
        assert await log.inputs(session.number) == [each for each in waiting if each.item_id not in step.taken_inputs]
        assert (await log.session("one")).queued_inputs == 18
        with pytest.raises(SessionNotFound):
            await log.append(queued(msgspec.structs.replace(session, number=session.number + 1), "itm_0"))

    async def test_a_message_is_queued_once(self, log: Log) -> None:
        session = await new_session(log)
        await log.append(queued(session, "itm_1"))
        for again in (("itm_1",), ("itm_2", "itm_1"), ("itm_3", "itm_3")):
            with pytest.raises(Conflict):
                await log.append(queued(session, *again, receipt=receipt("key")))
        assert [each.item_id for each in await log.inputs(session.number)] == ["itm_1"]
        assert (await log.session("one")).queued_inputs == 1
        assert await log.receipt("key") is None

    async def test_a_key_has_one_effect(self, log: Log) -> None:
        session = await new_session(log)
        steps = [queued(session, f"itm_{n}", receipt=receipt("key")) for n in range(2)]
        results = await asyncio.gather(*(log.append(step) for step in steps), return_exceptions=True)
        assert [type(result) for result in results] == [type(None), KeyReused]
        assert len(await log.inputs(session.number)) == 1
        with pytest.raises(KeyReused):
            await log.create(record("two"), [event(1)], receipt=receipt("key"))
        with pytest.raises(SessionNotFound):
            await log.session("two")
        await log.keep_receipt(receipt("key"))
        with pytest.raises(KeyReused):
            await log.keep_receipt(receipt("key", "other"))
        assert await log.receipt("key") == receipt("key")

    async def test_time_never_goes_back_in_a_session(self, log: Log) -> None:
        session = await new_session(log)
        for head, at in ((1, START + 100), (2, START - 100), (3, START + 50), (4, START + 200)):
            step = Append(session=session.number, epoch=0, expected=head, at=at, events=events(head + 1, head + 1))
            await log.append(step)
        assert (await log.session("one")).last_at == START + 200
        page = await log.events(EventQuery(session=session.number, since=START + 100, until=START + 200))
        assert sequences(page.events) == [2, 3, 4]

    async def test_what_was_acknowledged_is_there_when_the_log_is_opened_again(self, log: Log, store: LogStore) -> None:
        session = await new_session(log)
        await grow(log, session, 1, 50)
        await log.append(queued(session, "itm_1", head=51, receipt=receipt("key")))
        state = await log.session("one")
        stored = await whole(log, session.number)
        await log.close()
        again = await store.open()
        try:
            assert await again.session("one") == state
            assert await whole(again, session.number) == stored
            assert await again.receipt("key") == receipt("key")
            assert await again.unfinished() == [state]
            assert await grow(again, session, 51, 1) == 52
        finally:
            await again.close()
