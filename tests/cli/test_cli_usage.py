"""Help, wrong usage, unreachable daemons, colours, tokens and doctor."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Cli, Daemon

from everyagent.cli.daemon_start import plain_options
from everyagent.cli.exit_codes import EPILOGUE, MEANINGS


def test_server_is_another_name_of_serve(cli: Cli):
    assert cli("server", "--help").out.splitlines()[2:] == cli("serve", "--help").out.splitlines()[2:]


def test_help_lists_the_commands_and_the_exit_codes(cli: Cli):
    outcome = cli("--help")
    assert outcome.code == 0
    words = " ".join(outcome.out.split())
    for command in ("serve", "run", "sessions", "agents", "search", "doctor", "token", "completion"):
        assert f" {command} " in words
    assert EPILOGUE in words


def test_the_manual_lists_the_same_exit_codes():
    manual = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in manual


@pytest.mark.parametrize(
    "words",
    [
        ("serve",),
        ("run",),
        ("sessions",),
        ("sessions", "tail"),
        ("agents",),
        ("search",),
        ("doctor",),
        ("token",),
        ("completion",),
    ],
    ids=" ".join,
)
def test_every_command_explains_itself(cli: Cli, words: tuple[str, ...]):
    outcome = cli(*words, "--help")
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: everyagent " + " ".join(words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("frobnicate",), "Unknown command"),
        (("sessions", "show"), "See `everyagent sessions show --help`"),
        (("sessions", "list", "--bogus"), "--bogus"),
        (("serve", "--port", "x"), "--port has an invalid value 'x'"),
        (("serve", "--prot", "1"), "--port"),
        (("serve", "--host", "0.0.0.0", "--no-token"), "without a token"),
        (("run", "mock", " "), "prompt is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_usage_is_exit_code_2_with_the_reason(cli: Cli, words: tuple[str, ...], said: str):
    outcome = cli(*words)
    assert outcome.code == 2
    assert said in outcome.err


def test_an_unreachable_daemon_is_exit_code_5_and_the_error_says_how_to_start_it(no_daemon: Cli):
    outcome = no_daemon("sessions", "list")
    assert outcome.code == 5
    assert "everyagent serve" in outcome.err


def test_the_error_about_a_wrong_token_says_what_to_do(cli: Cli):
    outcome = cli("sessions", "list", "--token", "wrong")
    assert outcome.code == 1
    assert "EVERYAGENT_TOKEN" in outcome.err


def test_the_error_about_a_port_in_use_says_what_to_do(no_daemon: Cli, daemon: Daemon):
    outcome = no_daemon("serve", "--port", daemon.url.rpartition(":")[2])
    assert outcome.code == 1
    assert "--port" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_data_folder_in_use_is_an_error_and_the_running_daemon_keeps_its_address_file(cli: Cli, daemon: Daemon):
    outcome = cli("serve", "--port", "0")
    assert outcome.code == 1
    assert "in use" in outcome.err
    assert cli("sessions", "list").code == 0


def test_a_given_address_is_not_replaced_by_an_embedded_daemon(no_daemon: Cli):
    assert no_daemon("run", "mock", "[hello]", "--url", "http://127.0.0.1:9").code == 5
    assert no_daemon("agents", "list", "--url", "http://127.0.0.1:9").code == 5


def test_output_is_not_coloured_without_a_terminal_or_with_no_color(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    assert "\x1b" not in cli("sessions", "list").out
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in cli("doctor").out


def test_the_token_is_created_once_and_readable_only_by_its_owner(no_daemon: Cli):
    first = no_daemon("token").out.strip()
    assert first == no_daemon("token").out.strip() == json.loads(no_daemon("token", "--json").out)["token"]
    folder = Path(os.environ["EVERYAGENT_DATA_DIR"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    assert no_daemon("token", "--rotate").out.strip() != first


def test_doctor_asks_a_running_daemon(cli: Cli, daemon: Daemon):
    findings = {finding["what"]: finding for finding in json.loads(cli("doctor", "--json").out)}
    assert daemon.url in findings["daemon"]["found"]
    assert findings["database"]["found"].endswith("no damage found")
    assert findings["mock"]["state"] in ("ok", "note")


def test_doctor_works_without_a_daemon_and_changes_nothing(no_daemon: Cli):
    outcome = no_daemon("doctor")
    assert outcome.code == 0
    assert "not running" in outcome.out
    assert "mock" in outcome.out
    assert [path.name for path in Path(os.environ["EVERYAGENT_DATA_DIR"]).iterdir()] == ["agents"]


def test_doctor_finds_a_damaged_database(no_daemon: Cli):
    folder = Path(os.environ["EVERYAGENT_DATA_DIR"])
    folder.mkdir(mode=0o700)
    (folder / "everyagent.db").write_bytes(b"not a database, by any means" * 500)
    outcome = no_daemon("doctor")
    assert outcome.code == 1
    assert "backup" in outcome.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_has_the_commands(cli: Cli, shell: str):
    script = cli("completion", shell).out
    assert "terminate" in script
    assert "--permission-mode" in script


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("", {}),
        ("--port 0 --json", {"port": "0", "json": True}),
        ("--port=0 --no-token", {"port": "0", "no-token": True}),
        ("--help", None),
        ("--port", None),
        ("--port --json", None),
        ("--port 1 --port 2", None),
        ("--json=yes", None),
        ("--unknown 1", None),
        ("extra", None),
    ],
)
def test_plain_options_of_serve_are_parsed_without_cyclopts(words: str, options: dict[str, object] | None):
    assert plain_options(words.split()) == options


def test_the_daemon_does_not_load_modules_that_only_other_commands_or_invalid_requests_need():
    code = "import sys, everyagent.cli.main, everyagent.cli.daemon_start, everyagent.daemon; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    assert "everyagent.api.app" in loaded
    assert not {"cyclopts", "httpx2", "everyagent.api.invalid_input"} & set(loaded)
