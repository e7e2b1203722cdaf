"""Both clients follow event streams across broken connections."""

import pytest
from fake_daemon import TOKEN, FakeDaemon, envelope, serving

from everyagent.client import AnyEvent, ApiError, AsyncClient, Client, ClientError, Unreachable, backoff
from everyagent.client.event_codec import decode_any_event
from everyagent.model.decoding import UnknownData

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.001)


def log_of(daemon: FakeDaemon) -> list[AnyEvent]:
    return [decode_any_event(body) for body in daemon.events]


async def by_both(daemon: FakeDaemon, **options: object) -> list[list[AnyEvent]]:
    """The events that each client reads from a daemon in the same state."""
    cuts, refusals, skips = daemon.cuts, daemon.refusals, daemon.skips
    async with AsyncClient(daemon.url, TOKEN) as client:
        by_async = [event async for event in client.events("s1", **options)]  # pyright: ignore[reportArgumentType]
    daemon.cuts, daemon.refusals, daemon.skips = cuts, refusals, skips
    with Client(daemon.url, TOKEN) as client:
        by_sync = list(client.events("s1", **options))  # pyright: ignore[reportArgumentType]
    return [by_async, by_sync]


async def test_a_stream_cut_two_hundred_times_at_random_equals_the_log(daemon: FakeDaemon):
    daemon.add_text(3000)
    daemon.end()
    daemon.cuts = 200
    assert await by_both(daemon) == [log_of(daemon)] * 2
    assert daemon.cuts == 0
    assert daemon.connections >= 400


async def test_a_stream_begins_after_the_offset(daemon: FakeDaemon):
    daemon.add_text(20)
    daemon.end()
    assert await by_both(daemon, offset=15) == [log_of(daemon)[15:]] * 2


async def test_without_follow_it_reads_the_stored_events_and_stops(daemon: FakeDaemon):
    daemon.add_text(50)
    assert await by_both(daemon, follow=False) == [log_of(daemon)] * 2


async def test_a_stream_from_the_end_of_an_ended_session_is_empty(daemon: FakeDaemon):
    daemon.end()
    assert await by_both(daemon, offset=2) == [[], []]


async def test_a_stream_continues_after_a_restart_of_the_daemon(daemon: FakeDaemon):
    daemon.add_text(5)
    daemon.end()
    daemon.cuts, daemon.refusals = 2, 3
    assert await by_both(daemon) == [log_of(daemon)] * 2


async def test_an_event_that_the_connection_skipped_is_fetched_again(daemon: FakeDaemon):
    daemon.add_text(5)
    daemon.end()
    daemon.skips = 2
    assert await by_both(daemon) == [log_of(daemon)] * 2


async def test_a_lasting_gap_in_the_log_is_an_error_and_not_an_endless_loop(daemon: FakeDaemon):
    daemon.add_text(5)
    daemon.end()
    daemon.skips = 99
    with pytest.raises(ClientError, match="skips events"):
        await by_both(daemon)


async def test_unknown_events_of_a_newer_daemon_are_passed_on_undecoded(daemon: FakeDaemon):
    daemon.events.append(envelope(2, "session.dreamt", {"of": "sheep"}))
    daemon.events.append(envelope(3, "turn.ended", {"turn_id": "t", "stop_reason": "bored"}))
    daemon.end()
    for events in await by_both(daemon):
        assert [event.type for event in events] == ["session.started", "session.dreamt", "turn.ended", "session.ended"]
        assert events[1].data == UnknownData({"of": "sheep"})
        assert events[2].data == UnknownData({"turn_id": "t", "stop_reason": "bored"})


async def test_an_unknown_session_is_an_error_without_retries(daemon: FakeDaemon):
    async with AsyncClient(daemon.url, TOKEN) as client:
        with pytest.raises(ApiError, match="There is no such session") as caught:
            _ = [event async for event in client.events("other")]
    assert (caught.value.status, caught.value.code) == (404, "session_not_found")
    assert caught.value.problem["sessionId"] == "x"


async def test_a_stream_gives_up_after_its_patience():
    with serving(FakeDaemon()) as daemon:
        daemon.add_text(3)
        daemon.cuts = 1
        client = Client(daemon.url, TOKEN, patience=0.3)
        stream = client.events("s1")
        while not daemon.connections:
            next(stream)
        daemon.refusals = 10**6
    with client, pytest.raises(ClientError):
        list(stream)


async def test_new_events_arrive_while_following(daemon: FakeDaemon):
    async with AsyncClient(daemon.url, TOKEN) as client:
        seen: list[str] = []
        async for event in client.events("s1"):
            seen.append(event.type)
            if event.type == "session.started":
                daemon.cuts = 0
                daemon.end()
    assert seen == ["session.started", "session.ended"]


async def test_the_feed_continues_after_its_last_id(daemon: FakeDaemon):
    daemon.add_text(9)
    daemon.cuts = 3
    async with AsyncClient(daemon.url, TOKEN) as client:
        seen: list[int] = []
        async for event in client.feed(last_id="1"):
            seen.append(event.sequence)
            if len(seen) == 9:
                break
    assert seen == list(range(2, 11))


async def test_the_error_about_an_unreachable_daemon_says_how_to_start_it():
    async with AsyncClient("http://127.0.0.1:9", TOKEN) as client:
        with pytest.raises(Unreachable, match="everyagent serve"):
            await client.health()
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
            _ = [event async for event in client.events("s1")]
