"""The clients against the real daemon with the mock agent."""

import inspect
from collections.abc import Generator
from pathlib import Path

import pytest
from real_daemon import RealDaemon, breaking_wire, real_daemon

from everyagent.client import ApiError, AskPending, AsyncClient, AsyncSession, Client, Session, backoff
from everyagent.client.turn import Ask
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import ItemCompleted, PermissionRequested, QuestionRequested
from everyagent.model.items import text_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def client(daemon: RealDaemon) -> Generator[Client]:
    with Client(daemon.url, daemon.token) as client:
        yield client


async def test_a_stream_cut_a_thousand_times_at_random_equals_the_log(
    daemon: RealDaemon, client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backoff, "FIRST", 0.0005)
    session = client.create(agent="mock").session_id
    client.run_turn(session, "[flood events=6000 size=40]")
    client.terminate(session)
    log = list(client.events(session, follow=False))
    with breaking_wire(daemon.url) as wire:
        wire.cuts = 1000
        async with AsyncClient(wire.url, daemon.token, attempts=50) as by_wire:
            received = [event async for event in by_wire.events(session)]
        assert wire.cuts == 0
    assert received == log


async def test_turns_are_followed_over_broken_connections(
    daemon: RealDaemon, client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backoff, "FIRST", 0.0005)
    session = client.create(agent="mock").session_id
    with breaking_wire(daemon.url, seed=7) as wire:
        wire.cuts = 60
        with Client(wire.url, daemon.token, attempts=100) as by_wire:
            turns = [by_wire.run_turn(session, f"message {number}") for number in range(5)]
    assert [f"message {number}" in turn.text for number, turn in enumerate(turns)] == [True] * 5
    sent = [event for event in client.events(session, follow=False) if event.type == "turn.started"]
    assert len(sent) == 5


async def test_live_events_include_their_native_frames(daemon: RealDaemon):
    async with AsyncClient(daemon.url, daemon.token) as client:
        await client.create("live", agent="mock")
        await client.send("live", "[hello]")
        async for event in client.events("live", include_raw=True):
            assert event.raw is not None
            if event.type == "turn.ended":
                await client.terminate("live")


async def test_run_turn_answers_permissions_and_questions(daemon: RealDaemon):
    async def answer(ask: Ask) -> Answer:
        match ask:
            case PermissionRequested():
                return PermissionAnswer(reply="once")
            case QuestionRequested():
                return QuestionAnswer(answers=[["Red"], ["Docs", "Tests"]])
            case _:
                return ToolAnswer(output="4 degrees")

    async with AsyncClient(daemon.url, daemon.token) as client:
        session = (await client.create(agent="mock")).session_id
        turn = await client.run_turn(session, "[ask] [question]", answer=answer)
        assert turn.stop_reason == "end_turn"
        assert "Red; Docs, Tests" in turn.text
        assert await client.asks(session) == []
        assert len(await client.asks(session, pending=False)) == 2
        with pytest.raises(AskPending):
            await client.run_turn(session, "[ask]")
        [pending] = await client.asks()
        await client.answer(session, pending.ask_id, PermissionAnswer(reply="reject", message="no"))
        with pytest.raises(ApiError) as second:
            await client.answer(session, pending.ask_id, PermissionAnswer(reply="once"))
        assert (second.value.status, second.value.code) == (409, "ask_closed")


def test_every_response_of_the_daemon_can_be_decoded(client: Client, tmp_path: Path):
    assert client.health().status == "ok"
    assert client.openapi()["openapi"]
    assert "everyagent" in client.metrics()
    assert client.agents()[0].id == "mock"
    client.models("mock")
    assert client.modes("mock").permission_modes
    session = client.create(agent="mock", directory=str(tmp_path), metadata={"k": "v"}).session_id
    client.run_turn(session, "a quokka was here")
    client.create(agent="mock", directory=str(tmp_path))
    assert client.sessions(limit=1).next_page
    assert client.frames(session).frames
    assert client.event_page(session, order="desc", limit=1).events[0].sequence == client.session(session).event_count
    assert client.search("quokka")[0].session_id == session
    assert client.update(session, title="New", metadata={"k": None}).metadata == {}
    assert client.fork(session, title="Copy").forked_from
    assert b"quokka" in b"".join(client.export(session, format="jsonl"))
    assert not client.cancel(session)
    client.terminate(session)
    client.delete(session)
    with pytest.raises(ApiError) as gone:
        client.session(session)
    assert gone.value.code == "session_not_found"


def test_files_of_a_session(client: Client, tmp_path: Path):
    session = client.create(agent="mock", directory=str(tmp_path)).session_id
    assert client.write_file(session, "a/b.txt", b"text").bytes_written == 4
    assert client.read_file(session, "a/b.txt") == b"text"
    assert client.stat_file(session, "a/b.txt").size == 4
    assert [entry.name for entry in client.list_files(session, "a")] == ["b.txt"]
    client.make_directory(session, "c")
    client.move_file(session, "a/b.txt", "c/d.txt")
    client.delete_file(session, "a", recursive=True)
    (tmp_path / "link").symlink_to("c")
    entries = {entry.name: entry.entry_type for entry in client.list_files(session)}
    assert entries == {"c": "directory", "link": "symlink"}


def test_a_wrong_token_is_refused(daemon: RealDaemon):
    with Client(daemon.url, "wrong") as client, pytest.raises(ApiError) as refused:
        client.sessions()
    assert refused.value.status == 401


def test_a_session_object_runs_turns_and_streams_the_agents_own_text(client: Client, tmp_path: Path):
    session = client.use(client.create(agent="mock", directory=str(tmp_path)))
    texts = list(session.stream_text("[subagent command=pwd] [text words=20]"))
    assert len(texts) > 1
    items = [event.data.item for event in session.events(follow=False) if isinstance(event.data, ItemCompleted)]
    whole = "".join(texts)
    assert len(whole.split()) >= 20
    assert "[subagent" not in whole  # the user's own words
    texts_of_subagents = [text for item in items if item.subagent and (text := text_of(item))]
    assert texts_of_subagents
    assert not any(text in whole for text in texts_of_subagents)
    assert session.run("[hello]").stop_reason == "end_turn"
    assert session.info().session_id == session.id == client.use(session.id).id
    session.terminate()
    assert session.info().ended


@pytest.mark.parametrize("kind", [Client, AsyncClient, Session, AsyncSession])
def test_every_method_has_a_signature_and_a_description(kind: type):
    methods = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    assert len(methods) > 10
    for name in methods:
        method = getattr(kind, name)
        assert next(iter(inspect.signature(method).parameters)) == "self", name
        assert method.__name__ == name or kind in (Session, AsyncSession), name
        assert method.__doc__, name


def test_signatures_are_those_of_the_calls():
    assert {"agent", "directory", "env", "session_id"} <= inspect.signature(Client.create).parameters.keys()
    assert "session_id" not in inspect.signature(Session.update).parameters
    with Client("http://127.0.0.1:9", "no-token") as client:
        assert "agent" in inspect.signature(client.create).parameters
