"""`everyagent run` with a running and an embedded daemon, with and without a terminal."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, Cli, Daemon, Golden, environment
from pseudo_terminal import PseudoTerminal

from everyagent.cli import session_flags
from everyagent.client import Client
from everyagent.model.events import ItemCompleted
from everyagent.model.tools import McpLocal, McpRemote


def test_messages_go_to_stdout_and_everything_else_to_stderr(cli: Cli, golden: Golden):
    outcome = cli("run", "mock", '[hello] [reasoning] [tool name=bash command="echo hi"] [unparsed]')
    assert outcome.code == 0
    golden("run.out", outcome.out)
    golden("run.err", outcome.err)


def test_json_prints_the_events_of_the_turn(cli: Cli):
    outcome = cli("run", "mock", "[hello]", "--json")
    events = [json.loads(line) for line in outcome.out.splitlines()]
    assert events[0]["type"] == "turn.started"
    assert events[-1]["type"] == "turn.ended"


def test_the_session_is_ended_unless_it_is_kept(cli: Cli, client: Client):
    cli("run", "mock", "[hello]")
    assert client.sessions(limit=1).sessions[0].ended
    cli("run", "mock", "[hello]", "--keep")
    assert not client.sessions(limit=1).sessions[0].ended


def test_a_named_session_is_continued(cli: Cli, client: Client, tmp_path: Path):
    for _ in range(2):
        assert cli("run", "mock", "[hello]", "--session", "goes-on", "--directory", str(tmp_path)).code == 0
    info = client.session("goes-on")
    assert not info.ended
    assert info.directory == str(tmp_path)
    assert len([e for e in client.events("goes-on", follow=False) if e.type == "turn.ended"]) == 2
    assert cli("run", "other", "[hello]", "--session", "goes-on").code == 2


def test_a_session_gets_its_environment_servers_title_and_files(
    cli: Cli, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FROM_HERE", "value")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "notes.txt").write_text("words")
    words = ("--env", "FROM_HERE", "--env", "GIVEN=a=b", "--mcp", "docs=http://127.0.0.1:9/mcp")
    words += ("--mcp", "files=my-server --root 'a b'", "--title", "A title")
    words += ("--attach", str(tmp_path / "picture.png"), "--attach", str(tmp_path / "notes.txt"))
    outcome = cli("run", "mock", "[hello] [tool command='echo $FROM_HERE $GIVEN']", "--session", "with-flags", *words)
    assert outcome.code == 0, outcome.err
    assert "value a=b" in outcome.err
    info = client.session("with-flags")
    assert (info.title, sorted(info.env)) == ("A title", ["FROM_HERE", "GIVEN"])
    assert session_flags.mcp_servers(["files=my-server --root 'a b'", "docs=http://127.0.0.1:9/mcp"]) == {
        "files": McpLocal(command=["my-server", "--root", "a b"]),
        "docs": McpRemote(url="http://127.0.0.1:9/mcp"),
    }
    assert sorted(info.mcp) == ["docs", "files"]
    (user,) = [
        event.data.item
        for event in client.events("with-flags", follow=False)
        if isinstance(event.data, ItemCompleted) and event.data.item.role == "user"
    ]
    assert [type(part).__name__ for part in user.content] == ["TextPart", "ImagePart", "FileRefPart"]


def test_options_that_a_session_cannot_get_any_more_are_refused(cli: Cli, client: Client, tmp_path: Path):
    assert cli("run", "mock", "[hello]", "--session", "made", "--directory", str(tmp_path)).code == 0
    for words in (["--deny", "bash"], ["--offline"], ["--mode", "plan"], ["--env", "A=1"], ["--directory", "/"]):
        again = cli("run", "mock", "[hello]", "--session", "made", *words)
        assert (again.code, f"on which {words[0]} would have no effect" in again.err) == (2, True)
    assert len([e for e in client.events("made", follow=False) if e.type == "turn.ended"]) == 1


def test_a_session_id_with_a_slash_is_refused(cli: Cli):
    for words in (["run", "mock", "[hello]", "--session", "a/b"], ["sessions", "show", "a/events"]):
        outcome = cli(*words)
        assert outcome.code != 0
        assert "is not an id" in outcome.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--env", "NOT_SET_ANYWHERE"), "write NAME=VALUE"),
        (("--env", "=value"), "write NAME=VALUE"),
        (("--mcp", "docs"), "write NAME=URL"),
        (("--mcp", "docs='open"), "No closing quotation"),
        (("--attach", "/no/such/file"), "--attach /no/such/file: No such file or directory."),
    ],
)
def test_a_flag_that_is_wrong_is_explained(cli: Cli, words: tuple[str, ...], reason: str):
    outcome = cli("run", "mock", "[hello]", *words)
    assert (outcome.code, reason in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize(
    ("prompt", "code"),
    [("[hello]", 0), ("[error code=overloaded]", 1), ("[crash]", 1), ("[ask]", 3), ("[question]", 3)],
)
def test_the_exit_code_is_the_result_of_the_turn(cli: Cli, prompt: str, code: int):
    assert cli("run", "mock", prompt).code == code


def test_permissions_that_the_mode_grants_are_not_prompted_for(cli: Cli, tmp_path: Path):
    words = ("--permission-mode", "bypass", "--directory", str(tmp_path))
    assert cli("run", "mock", "[ask] [diff]", *words).code == 0


def test_without_a_terminal_it_prints_how_to_answer_and_the_session_waits(cli: Cli, client: Client, golden: Golden):
    outcome = cli("run", "mock", "[ask]")
    golden("waiting.err", outcome.err)
    info = client.sessions(limit=1).sessions[0]
    assert info.status == "waiting"
    [ask] = client.asks(info.session_id)
    assert f"everyagent sessions answer {info.session_id} {ask.ask_id}" in outcome.err


def test_names_in_tool_policies_that_nothing_has_are_warned_of(cli: Cli):
    outcome = cli("run", "mock", "[hello]", "--deny", "bsh", "--ask", "docs/get", "--deny", "web_fetch")
    assert outcome.code == 0
    assert "toolPolicies.tools.bsh: mock is not known to have this tool; did you mean bash?" in outcome.err
    assert "toolPolicies.mcp.docs: the session has no such MCP server" in outcome.err
    assert "web_fetch" not in outcome.err


def test_the_error_about_an_unknown_agent_or_mode_lists_the_known_ones(cli: Cli):
    unknown = cli("run", "nobody", "hi")
    assert unknown.code == 4
    assert "mock" in unknown.err
    assert "acceptEdits" in cli("run", "mock", "hi", "--permission-mode", "nope").err


def test_it_starts_an_embedded_daemon_if_none_runs(no_daemon: Cli):
    outcome = no_daemon("run", "mock", "[hello]", "--session", "mine")
    assert outcome.code == 0
    assert "I am the mock agent" in outcome.out
    again = no_daemon("run", "mock", "and you?", "--session", "mine")
    assert again.code == 0
    assert "and you?" in again.out


def test_with_an_embedded_daemon_an_unanswered_ask_explains_how_to_wait(no_daemon: Cli):
    outcome = no_daemon("run", "mock", "[ask]")
    assert outcome.code == 3
    assert "everyagent serve" in outcome.err


@pytest.mark.parametrize(
    "words", [("run", "mock", "[text words=2000]"), ("run", "mock", "[hello]", "--json")], ids=" ".join
)
def test_a_closed_stdout_is_not_reported(daemon: Daemon, words: tuple[str, ...]):
    with subprocess.Popen(
        COMMAND + list(words), env=environment(daemon.data_dir), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(10)
        process.stdout.close()
        assert "Traceback" not in process.stderr.read().decode()


@pytest.fixture
def terminal(tmp_path: Path):
    with PseudoTerminal(environment(tmp_path / "data") | {"EVERYAGENT_PORT": "9", "NO_COLOR": "1"}) as terminal:
        yield terminal


def test_a_permission_is_prompted_for_and_granted(terminal: PseudoTerminal):
    terminal.start("run", "mock", "[ask]")
    terminal.wait_for("wants to run: echo permitted")
    terminal.wait_for("always allows: every call of bash")
    terminal.wait_for("[n] no >")
    terminal.type("maybe")
    terminal.wait_for("[n] no >", times=2)
    terminal.type("y")
    assert terminal.end() == 0
    assert "└ permitted" in terminal.seen


def test_a_chat_goes_on_until_an_empty_line(terminal: PseudoTerminal):
    terminal.start("run", "mock", "--chat", "--directory", "/tmp")
    terminal.wait_for("> ")
    terminal.type("the first")
    terminal.wait_for(" · session sess_")
    terminal.type("[ask]")
    terminal.wait_for("[n] no > ")
    terminal.type("y")
    terminal.wait_for(" · session sess_", times=2)
    terminal.type("[whoami]")
    terminal.wait_for("turn: 3")
    terminal.wait_for(" · session sess_", times=3)
    terminal.type("")
    assert terminal.end() == 0


def test_a_chat_needs_a_terminal(cli: Cli):
    assert cli("run", "mock", "hello", "--chat").code == 2
    assert cli("run", "mock").code == 2


def test_a_permission_is_rejected_with_a_reason(terminal: PseudoTerminal):
    terminal.start("run", "mock", r'[ask command="echo one #\nrm -rf two"]')
    terminal.wait_for("[n] no >")
    assert "bash wants to run:\r\n    echo one #\r\n    rm -rf two\r\n" in terminal.seen
    terminal.type("n")
    terminal.wait_for("why? >")
    terminal.type("too risky")
    assert terminal.end() == 0
    assert "too risky" in terminal.seen.rpartition("I did not run")[2]


def test_questions_are_answered_by_number_and_by_text(terminal: PseudoTerminal):
    terminal.start("run", "mock", "[question]")
    terminal.wait_for("a number, or your own answer >")
    terminal.type("mauve")
    terminal.wait_for("several numbers, or your own answer >")
    terminal.type("1, 3")
    assert terminal.end() == 0
    assert "You answered: mauve; Tests, Benchmarks." in terminal.seen


def test_the_first_ctrl_c_stops_the_turn_and_the_second_leaves(terminal: PseudoTerminal):
    terminal.start("run", "mock", "[slow seconds=30]")
    terminal.wait_for("quick")
    terminal.signal(signal.SIGINT)
    terminal.wait_for("Stopping the turn")
    assert terminal.end() == 130
    assert "interrupted" in terminal.seen


def test_the_second_ctrl_c_leaves_an_agent_that_does_not_stop(terminal: PseudoTerminal):
    terminal.start("run", "mock", "[text words=3] [hang]", "--session", "hangs")
    terminal.wait_for(" ")
    terminal.signal(signal.SIGINT)
    terminal.wait_for("Ctrl-C again to leave")
    terminal.signal(signal.SIGINT)
    assert terminal.end() == 130


def test_ctrl_c_at_a_prompt_withdraws_it(terminal: PseudoTerminal):
    terminal.start("run", "mock", "[ask]")
    terminal.wait_for("[n] no >")
    terminal.signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "interrupted" in terminal.seen


def test_a_daemon_with_another_token_is_not_used(no_daemon: Cli, daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EVERYAGENT_PORT", daemon.url.rpartition(":")[2])
    assert no_daemon("run", "mock", "hello").code == 0
