"""`everyagent agents login` runs the login of the agent's own program, and everything that reports a login names it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents import stage

from everyagent.agents.amp import program as amp
from everyagent.agents.claude import program as claude
from everyagent.agents.codex import program as codex
from everyagent.agents.logins import LOGIN_ARGUMENTS
from everyagent.agents.opencode import program as opencode
from everyagent.agents.registry import ACP_AGENTS

LIMIT_SECONDS = 180.0
PROGRAMS = {"claude": claude, "codex": codex, "opencode": opencode, "amp": amp}


def binary(agent: str) -> str:
    program = PROGRAMS[agent]
    return stage.tested_binary(agent, program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """A user with an empty home, and no daemon."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("EVERYAGENT_")}
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    return ours | {
        "HOME": str(home),
        "EVERYAGENT_DATA_DIR": str(tmp_path / "data"),
        codex.BINARY_VARIABLE: binary("codex"),
    }


def everyagent(settings: dict[str, str], *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "everyagent", *words]
    return subprocess.run(command, env=settings, input=given, capture_output=True, text=True, timeout=LIMIT_SECONDS)


def test_a_login_with_codex_s_own_program_is_found_by_everyagent(settings: dict[str, str]) -> None:
    assert "everyagent agents login codex" in everyagent(settings, "doctor").stdout
    done = everyagent(settings, "agents", "login", "codex", "--", "--with-api-key", given="sk-of-a-test")
    assert done.returncode == 0, done.stderr
    listed = json.loads(everyagent(settings, "agents", "list", "--json").stdout)
    (found,) = [each for each in listed if each["id"] == "codex"]
    assert found["login"] == "an API key that Codex keeps"
    assert "agents login codex" not in everyagent(settings, "doctor").stdout


def test_the_exit_code_is_that_of_the_program(settings: dict[str, str]) -> None:
    assert everyagent(settings, "agents", "login", "codex", "--", "--no-such-option").returncode == 2


@pytest.mark.parametrize(
    ("agent", "code", "reason"),
    [("nobody", 4, "There is no agent 'nobody'."), ("mock", 1, "needs no login"), ("droid", 1, "agents install droid")],
)
def test_what_cannot_be_logged_in_is_refused(settings: dict[str, str], agent: str, code: int, reason: str) -> None:
    done = everyagent(settings, "agents", "login", agent)
    assert (done.returncode, reason in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize("agent", PROGRAMS)
def test_the_program_has_such_a_login(agent: str, settings: dict[str, str]) -> None:
    command = [binary(agent), *LOGIN_ARGUMENTS[agent], "--help"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, "log" in (done.stdout + done.stderr).lower()) == (0, True), done.stderr


def test_every_agent_but_the_mock_has_a_login() -> None:
    assert {*LOGIN_ARGUMENTS} == {*PROGRAMS, *ACP_AGENTS}
