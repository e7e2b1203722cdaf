"""Mistakes of newcomers: wrong tokens, wrong folders, agents that are not there, an editor that leaves at once."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, Cli, Daemon, environment
from pseudo_terminal import PseudoTerminal
from tests.agents.amp.amp_stage import amp_binary
from tests.inspector.package_registry import PackageRegistry

from everyagent.agents.amp import program
from everyagent.cli.exit_codes import ExitCode
from everyagent.client import Client
from everyagent.model.events import Error
from everyagent.model.limits import AgentLimits


def test_doctor_says_that_a_running_daemon_does_not_accept_the_token(cli: Cli, daemon: Daemon) -> None:
    outcome = cli("doctor", "--token", "not-the-token", "--json")
    (found,) = [each for each in json.loads(outcome.out) if each["what"] == "daemon"]
    assert (found["state"], found["found"]) == ("bad", f"{daemon.url} does not accept this token")
    assert outcome.code == ExitCode.FAILED


def test_a_data_folder_without_a_daemon_leads_to_no_other_daemon(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("sessions", "list", "--data-dir", str(tmp_path))
    assert outcome.code == ExitCode.NO_DAEMON
    assert f"No daemon uses the data folder {tmp_path}. Start one with `everyagent serve" in outcome.err


def test_an_editor_that_leaves_at_once_gets_its_answers(daemon: Daemon, tmp_path: Path) -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests)
    served = subprocess.run(
        [*COMMAND, "acp", "mock"],
        input=lines,
        env=environment(daemon.data_dir),
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = {each["id"]: each for line in served.stdout.splitlines() if "id" in (each := json.loads(line))}
    assert answers[1]["result"]["protocolVersion"] == 1
    assert answers[2]["result"]["sessionId"]


def test_an_agent_that_is_not_installed_fails_at_once_with_the_command_to_run(client: Client) -> None:
    session = client.create(agent="auggie").session_id
    assert client.run_turn(session, "Hello").stop_reason == "error"
    (error,) = [event.data for event in client.events(session, follow=False) if isinstance(event.data, Error)]
    assert error.code == "agent_not_installed"
    assert "Run `everyagent agents install auggie`." in error.message


def test_a_session_is_shown_with_its_isolation_lifetime_and_limits(cli: Cli, client: Client) -> None:
    session = client.create(agent="mock", isolation="none", lifetime="process", limits=AgentLimits(processes=64))
    shown = {
        line.split()[0]: line.split(maxsplit=1)[1]
        for line in cli("sessions", "show", session.session_id).out.splitlines()
    }
    assert (shown["isolation"], shown["lifetime"], shown["limits"]) == ("none", "process", "processes 64")


@pytest.mark.parametrize(
    "words",
    [
        "sessions terminate",
        "sessions delete",
        "sessions",
        "agents",
        "vault",
        "agents install",
        "search",
        "sessions list --limit 0",
        "frob",
        "sessions frob",
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_way_on(cli: Cli, words: str) -> None:
    outcome = cli(*words.split())
    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert "everyagent" in outcome.err or "--limit" in outcome.err


def test_narrow_terminals_keep_ids_and_titles(daemon: Daemon, client: Client) -> None:
    session = client.create(agent="mock", title="A title of some length, longer than what is left").session_id
    with PseudoTerminal(environment(daemon.data_dir) | {"NO_COLOR": "1"}, columns=60) as terminal:
        terminal.start("sessions", "list")
        assert terminal.end() == 0
    (line,) = [line for line in terminal.seen.splitlines() if session in line]
    assert "A title of some" in line
    assert line.endswith("…")
    assert len(line) <= 60


def test_doctor_names_the_session_whose_frames_are_unknown(cli: Cli, client: Client) -> None:
    session = client.create(agent="mock").session_id
    client.run_turn(session, "[unparsed]")
    assert f"→ everyagent sessions export {session} --format case" in cli("doctor").out


def test_the_check_of_the_mock_passes(cli: Cli) -> None:
    outcome = cli("agents", "check", "mock")
    assert (outcome.code, "NO" in outcome.out) == (0, False), outcome.out
    assert {"permissions", "exit"} <= set(outcome.out.split())


def test_an_installation_shows_its_bytes_and_then_its_size(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("npm", "node"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    with PackageRegistry(program.pinned(), tmp_path) as registry:
        registry.serve(Path(amp_binary()))
        given = environment(tmp_path / "data") | {
            "NO_COLOR": "1",
            "EVERYAGENT_PORT": "9",
            "PATH": str(tools),
            "HOME": str(tmp_path),
            "npm_config_registry": registry.url,
            "npm_config_noproxy": "127.0.0.1",
            program.BINARY_VARIABLE: "",
        }
        with PseudoTerminal(given) as terminal:
            terminal.start("agents", "install", "amp")
            terminal.wait_for(" MB")
            registry.go_on.set()
            assert terminal.end() == 0
    assert "Installed amp (1" in terminal.seen
    assert " MB)." in terminal.seen
