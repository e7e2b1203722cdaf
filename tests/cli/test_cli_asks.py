"""`everyagent asks`, `models`, `sessions rename` and `sessions queue`."""

from collections.abc import Generator

import pytest
from command_line import Cli, Daemon, environment
from pseudo_terminal import PseudoTerminal

from everyagent.client import Client
from everyagent.client.turn import ask_in
from everyagent.model.events import TurnEnded


@pytest.fixture
def waiting(client: Client) -> Generator[list[str]]:
    """Two sessions whose agents wait for an answer."""
    sessions = [client.create(agent="mock", title=f"Session {prompt}").session_id for prompt in ("[ask]", "[question]")]
    for session, prompt in zip(sessions, ("[ask]", "[question]"), strict=True):
        client.send(session, prompt)
        next(event for event in client.events(session) if ask_in(event))
    yield sessions
    for session in sessions:
        client.terminate(session)


def test_all_open_asks_are_listed(cli: Cli, client: Client, waiting: list[str]):
    listed = cli("asks")
    for ask in (ask for session in waiting for ask in client.asks(session)):
        (line,) = [line for line in listed.out.splitlines() if line.startswith(ask.ask_id)]
        assert ask.session_id in line
    assert "bash: echo permitted" in listed.out
    assert "everyagent sessions answer " in listed.err


def test_all_open_asks_are_answered_from_one_terminal(daemon: Daemon, client: Client, waiting: list[str]):
    others = [ask for ask in client.asks() if ask.session_id not in waiting]
    for ask in others:  # of other tests
        client.terminate(ask.session_id)
    with PseudoTerminal(environment(daemon.data_dir) | {"NO_COLOR": "1"}) as terminal:
        terminal.start("asks")
        terminal.wait_for("1 of 2 · Session [ask] · mock in ")
        terminal.wait_for("[n] no > ")
        terminal.type("y")
        terminal.wait_for("2 of 2 · Session [question] · mock in ")
        terminal.wait_for("a number, or your own answer > ")
        terminal.type("1")
        terminal.wait_for("several numbers, or your own answer > ")
        terminal.type("1 2")
        assert terminal.end() == 0
    for session in waiting:
        (ended,) = [
            event.data for event in client.events(session, follow=False) if isinstance(event.data, TurnEnded)
        ] or [next(event.data for event in client.events(session) if isinstance(event.data, TurnEnded))]
        assert ended.stop_reason == "end_turn"


def test_models_are_listed(cli: Cli):
    listed = cli("models", "mock")
    assert listed.code == 0
    assert listed.out.startswith("MODEL")
    assert any(line.split()[1] == "mock" for line in listed.out.splitlines())
    assert "mock" in cli("models").out
    assert cli("models", "nobody").code == 4


def test_a_session_is_renamed(cli: Cli, client: Client):
    session = client.create(agent="mock").session_id
    assert "is called: Another name" in cli("sessions", "rename", session, "Another name").err
    assert client.session(session).title == "Another name"
    cli("sessions", "rename", session, "")
    assert client.session(session).title is None


def test_messages_that_wait_are_listed_and_withdrawn(cli: Cli, client: Client):
    session = client.create(agent="mock").session_id
    client.send(session, "[slow seconds=600]")
    next(event for event in client.events(session) if event.type == "turn.started")
    items = [client.send(session, text) for text in ("first", "second")]
    assert cli("sessions", "queue", session).out.splitlines()[1].split() == [items[0], "first"]
    left = cli("sessions", "queue", session, "--remove", items[0])
    assert [line.split()[0] for line in left.out.splitlines()[1:]] == [items[1]]
    assert cli("sessions", "queue", session, "--remove", items[0]).code == 4
    client.terminate(session)


def test_an_ask_that_nobody_answers_is_answered_by_the_daemon(cli: Cli, client: Client):
    """Without a terminal, `run` waits for that."""
    done = cli("run", "mock", "[ask]", "--ask-timeout", "0.1", "--ask-default", "allow", "--keep", "--json")
    assert done.code == 0
    assert '"reply":"once"' in done.out
    assert '"actor":{"key_id":"daemon","name":"askTimeout"}' in done.out
    session = client.create(agent="mock").session_id
    assert cli("sessions", "set", session, "--ask-timeout", "60", "--ask-text", "Go on.").code == 0
    assert "60 s, then permission: deny, question: 'Go on.'" in cli("sessions", "show", session).out
    assert cli("sessions", "set", session, "--ask-timeout", "0").code == 0
    assert client.session(session).ask_timeout is None
    assert cli("sessions", "set", session).code == 2
    assert cli("sessions", "set", session, "--budget", "2.5", "--budget-tokens", "1000").code == 0
    assert "$2.5000 · 1,000 tokens" in cli("sessions", "show", session).out
    assert cli("sessions", "set", session, "--budget", "0").code == 0
    assert (client.session(session).budget_usd, client.session(session).budget_tokens) == (None, 1000)
