"""The commands `sessions`, `search` and `agents` with a real daemon."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from command_line import Cli, Golden, Outcome

from everyagent.client import Client


@pytest.fixture
def session(client: Client) -> str:
    """A session with a title and one finished turn."""
    name = f"s-{uuid4().hex[:6]}"
    client.create(name, agent="mock", title="A greeting")
    client.run_turn(name, "[hello]")
    return name


def documents(outcome: Outcome) -> list[dict[str, object]]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_list_shows_the_sessions(cli: Cli, session: str):
    outcome = cli("sessions", "list")
    assert outcome.code == 0
    header, first, *_ = outcome.out.splitlines()
    assert header.split() == ["SESSION", "AGENT", "STATUS", "EVENTS", "UPDATED", "TITLE"]
    assert first.startswith(session)
    assert "A greeting" in first


def test_list_with_json_prints_one_document(cli: Cli, session: str):
    [found] = json.loads(cli("sessions", "list", "--json", "--limit", "1").out)
    assert found["sessionId"] == session


def test_list_pages_until_the_limit(cli: Cli, client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("everyagent.cli.sessions.list.PAGE", 2)
    for _ in range(5):
        client.create(agent="mock")
    assert len(json.loads(cli("sessions", "list", "--json", "-n", "5").out)) == 5


def test_show_prints_all_facts_of_a_session(cli: Cli, client: Client, session: str, golden: Golden):
    outcome = cli("sessions", "show", session)
    assert outcome.code == 0
    level = str(client.session(session).isolation)  # that of this machine
    golden("show", outcome.out.replace(session, "SESSION").replace(f"isolation    {level}", "isolation    LEVEL"))


def test_show_prints_pending_asks_and_how_to_answer(cli: Cli, client: Client):
    name = client.create(agent="mock").session_id
    for event in client.stream_turn(name, "[ask]"):
        if event.type == "permission.requested":
            break
    outcome = cli("sessions", "show", name)
    assert "waits for an answer: bash: echo permitted" in outcome.out
    assert f"everyagent sessions answer {name} perm_" in outcome.out
    [ask] = client.asks(name)
    assert cli("sessions", "answer", name, ask.ask_id, "perhaps").code == 2
    assert cli("sessions", "answer", name, ask.ask_id, "once").code == 0
    second = cli("sessions", "answer", name, ask.ask_id, "once")
    assert second.code == 1
    assert second.err.startswith("error: ")
    assert cli("sessions", "answer", name, "perm_none", "once").code == 4


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        *(
            (f"sessions {words}", "`everyagent sessions list`")
            for words in (
                "show nope",
                "tail nope",
                "tail nope -f",
                "send nope hello",
                "answer nope perm_x once",
                "cancel nope",
                "terminate nope",
                "delete nope --yes",
                "export nope",
                "export nope --format case",
                "fork nope",
                "queue nope",
                "rename nope name",
                "set nope --budget 1",
                "worktree nope",
                "merge nope",
                "drop nope",
            )
        ),
        ("search word --session nope", "`everyagent sessions list`"),
        ("keys revoke nope", "`everyagent keys list`"),
        ("runner keys revoke nope", "`everyagent runner keys list`"),
        *((f"webhooks {words} nope", "`everyagent webhooks list`") for words in ("test", "remove", "replay")),
        ("webhooks deliveries nope", "`everyagent webhooks list`"),
        ("models nope", ""),
    ],
)
def test_an_unknown_id_is_an_error_that_names_the_command_that_lists_them(cli: Cli, command: str, hint: str):
    outcome = cli(*command.split())
    assert outcome.code == 4
    assert "'nope'" in outcome.err
    assert hint in outcome.err
    assert "/v1/" not in outcome.err


def test_questions_are_answered_one_by_one(cli: Cli, client: Client):
    name = client.create(agent="mock").session_id
    stream = client.stream_turn(name, "[question]")
    text = ""
    for event in stream:
        if event.type == "question.requested":
            [ask] = client.asks(name)
            assert cli("sessions", "answer", name, ask.ask_id, "Green", "Tests|Docs").code == 0
        text += getattr(event.data, "delta", "")
    assert "Green; Tests, Docs" in text


def test_tail_prints_one_line_per_event(cli: Cli, session: str, golden: Golden):
    outcome = cli("sessions", "tail", session)
    assert outcome.code == 0
    golden("tail", outcome.out.replace(session, "SESSION"))


def test_tail_with_json_prints_one_document_per_line(cli: Cli, session: str):
    events = documents(cli("sessions", "tail", session, "--json"))
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert all(event["raw"] is None for event in events)
    raws = documents(cli("sessions", "tail", session, "--json", "--raw", "--types", "item.delta"))
    assert raws
    assert all(event["raw"] is not None and event["type"] == "item.delta" for event in raws)


def test_tail_prints_the_last_events(cli: Cli, session: str):
    assert len(cli("sessions", "tail", session, "-n", "3").out.splitlines()) == 3


def test_tail_follows_until_the_session_ends(cli: Cli, client: Client, session: str):
    client.terminate(session)
    outcome = cli("sessions", "tail", "-f", session)
    assert outcome.code == 0
    assert "session.ended" in outcome.out.splitlines()[-1]


def test_send_prints_the_id_of_the_message(cli: Cli, client: Client, session: str):
    outcome = cli("sessions", "send", session, "once more")
    assert outcome.out.startswith("itm_")
    assert "tail -f" in outcome.err
    assert json.loads(cli("sessions", "send", session, "and more", "--json").out)["itemId"].startswith("itm_")


def test_cancel_prints_whether_a_turn_was_running(cli: Cli, client: Client, session: str):
    assert "No turn was running" in cli("sessions", "cancel", session).err
    for event in client.stream_turn(session, "[slow seconds=30]"):
        if event.type == "item.delta":
            assert json.loads(cli("sessions", "cancel", session, "--json").out) == {"cancelled": True}
            break


def test_terminate_can_be_repeated(cli: Cli, client: Client, session: str):
    assert cli("sessions", "terminate", session).code == 0
    assert cli("sessions", "terminate", session).code == 0
    assert client.session(session).ended


def test_a_fork_is_a_separate_session(cli: Cli, client: Client, session: str):
    outcome = cli("sessions", "fork", session, "--title", "Another")
    copy = client.session(outcome.out.strip())
    assert copy.title == "Another"
    assert copy.forked_from
    assert copy.forked_from.session_id == session


def test_export_writes_to_stdout_or_into_a_file(cli: Cli, session: str, tmp_path: Path):
    document = cli("sessions", "export", session).out
    assert "I am the mock agent" in document
    file = tmp_path / "session.html"
    outcome = cli("sessions", "export", session, "--format", "html", "-o", str(file))
    assert outcome.code == 0
    assert outcome.out == ""
    assert "I am the mock agent" in file.read_text()
    assert [path.name for path in tmp_path.glob("session*")] == ["session.html"]


def test_an_export_that_fails_leaves_no_file(cli: Cli, tmp_path: Path):
    assert cli("sessions", "export", "nobody", "-o", str(tmp_path / "x")).code == 4
    assert not list(tmp_path.glob("x*"))


def test_delete_needs_confirmation(cli: Cli, client: Client, session: str):
    assert cli("sessions", "delete", session).code == 2
    assert client.session(session)
    assert cli("sessions", "delete", session, "--yes").code == 0
    assert cli("sessions", "show", session).code == 4


def test_search_finds_messages(cli: Cli, client: Client):
    name = client.create(agent="mock").session_id
    client.run_turn(name, "a xylophone in the attic")
    assert name in cli("search", "xylophone").out
    [hit, *_] = json.loads(cli("search", "xylophone", "--session", name, "--json").out)
    assert hit["sessionId"] == name
    assert "Nothing found" in cli("search", "zygomorphic").err


def test_agents_are_listed(cli: Cli):
    assert "mock" in cli("agents", "list").out
    assert json.loads(cli("agents", "list", "--json").out)[0]["id"] == "mock"
    assert cli("agents", "install").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("show", "nobody"),
        ("tail", "nobody"),
        ("tail", "-f", "nobody"),
        ("send", "nobody", "hi"),
        ("cancel", "nobody"),
        ("terminate", "nobody"),
        ("fork", "nobody"),
        ("export", "nobody"),
        ("delete", "nobody", "--yes"),
        ("answer", "nobody", "perm_x", "once"),
    ],
    ids=" ".join,
)
def test_an_unknown_session_is_exit_code_4_with_a_message(cli: Cli, words: tuple[str, ...]):
    outcome = cli("sessions", *words)
    assert outcome.code == 4
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert "nobody" in outcome.err
    assert "Traceback" not in outcome.err
