"""Both clients send messages, retry requests and run turns."""

import msgspec
import pytest
from fake_daemon import TOKEN, FakeDaemon

from everyagent.client import AskPending, AsyncClient, Client, Turn, backoff
from everyagent.client.turn import Ask
from everyagent.model.asks import PermissionAnswer

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.001)


def without_ids(turn: Turn) -> dict[str, object]:
    facts = msgspec.to_builtins(turn)
    return {name: facts[name] for name in ("stop_reason", "text", "usage", "cost_usd", "error")}


async def test_both_clients_return_the_same_turn(daemon: FakeDaemon):
    daemon.take_turn("someone_else", "before")
    async with AsyncClient(daemon.url, TOKEN) as client:
        by_async = await client.run_turn("s1", "Hi")
    with Client(daemon.url, TOKEN) as client:
        by_sync = client.run_turn("s1", "Hi")
    assert without_ids(by_async) == without_ids(by_sync)
    assert (by_async.text, by_async.stop_reason, by_async.cost_usd) == ("You said Hi", "end_turn", 0.5)
    assert len(by_async.items) == 2


async def test_a_message_whose_response_was_lost_is_sent_again_and_stored_once(daemon: FakeDaemon):
    daemon.drops = 2
    async with AsyncClient(daemon.url, TOKEN) as client:
        turn = await client.run_turn("s1", "Hi")
    assert turn.text == "You said Hi"
    assert len(daemon.keys) == 1
    assert len([r for r in daemon.requests if r.url.path.endswith("/messages")]) == 3


async def test_reads_are_retried_a_limited_number_of_times(daemon: FakeDaemon):
    daemon.drops = 3
    with Client(daemon.url, TOKEN, attempts=5) as client:
        assert client.health().version == "9"


async def test_an_ask_without_an_answer_function_is_an_error_that_names_it(daemon: FakeDaemon):
    daemon.ask_first = True
    async with AsyncClient(daemon.url, TOKEN) as client:
        with pytest.raises(AskPending, match="perm_1"):
            await client.run_turn("s1", "Hi")


async def test_an_ask_that_the_daemon_resolved_needs_no_answer(daemon: FakeDaemon):
    daemon.ask_first, daemon.ask_waits = True, False
    async with AsyncClient(daemon.url, TOKEN) as client:
        assert (await client.run_turn("s1", "Hi")).text == "You said Hi"
    with Client(daemon.url, TOKEN) as client:
        assert client.run_turn("s1", "Hi").text == "You said Hi"


@pytest.mark.parametrize("wrong", ["once", None])
async def test_a_wrong_return_value_of_the_answer_function_is_an_error_that_names_the_right_ones(
    daemon: FakeDaemon, wrong: object
):
    async def answer(ask: Ask) -> object:
        return wrong

    daemon.ask_first = True
    expected = rf"PermissionAnswer\(reply='once'\).* not {wrong!r} \({type(wrong).__name__}\)"
    async with AsyncClient(daemon.url, TOKEN) as client:
        with pytest.raises(TypeError, match=expected):
            await client.run_turn("s1", "Hi", answer=answer)  # pyright: ignore[reportArgumentType]
    with Client(daemon.url, TOKEN) as client, pytest.raises(TypeError, match=expected):
        client.run_turn("s1", "Hi", answer=lambda ask: wrong)  # pyright: ignore[reportArgumentType]
    assert not [request for request in daemon.requests if request.url.path.endswith("/reply")]


async def test_asks_are_answered_by_the_answer_function(daemon: FakeDaemon):
    daemon.ask_first = True

    async def allow(ask: Ask) -> PermissionAnswer:
        return PermissionAnswer(reply="once")

    async with AsyncClient(daemon.url, TOKEN) as client:
        assert (await client.run_turn("s1", "Hi", answer=allow)).text == "You said Hi"
    assert daemon.requests[-1].url.path.endswith("/perm_1/reply")


async def test_every_request_has_the_token(daemon: FakeDaemon):
    with Client(daemon.url, TOKEN) as client:
        client.health()
    assert daemon.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
