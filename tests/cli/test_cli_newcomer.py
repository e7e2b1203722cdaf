"""What a newcomer meets: wrong tokens, wrong folders, agents that are not there, an editor that leaves at once."""

import json
import subprocess
from pathlib import Path

from command_line import COMMAND, Cli, Daemon, environment

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
