"""Runs the README's examples as they are printed, against a fresh daemon."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from everyagent.agents.amp import program as amp
from everyagent.agents.claude import program as claude
from everyagent.agents.codex import program as codex
from everyagent.agents.opencode import program as opencode
from everyagent.testing.daemon import TOKEN, DaemonProcess

ROOT = Path(__file__).parents[1]
PROGRAMS = {"claude": claude, "codex": codex, "opencode": opencode, "amp": amp}
README = (ROOT / "README.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


#: A replacement for curl with the options that the README uses, for machines without it.
CURL = """
import sys
import httpx2

words, headers, data, url = iter(sys.argv[1:]), {}, None, ""
for word in words:
    if word == "-H":
        name, value = next(words).split(": ", 1)
        headers[name] = value
    elif word == "-d":
        data = next(words)
    elif word == "--max-time":
        next(words)
    elif not word.startswith("-"):
        url = word
try:
    with httpx2.stream("POST" if data else "GET", url, content=data, headers=headers, timeout=2) as answer:
        for text in answer.iter_text():
            print(text, end="", flush=True)
except httpx2.ReadTimeout:
    sys.exit(28)
"""


#: A person who pastes the lines one by one sees the turn's end in the page of events.
UNTIL_THE_TURN_ENDED = """
until curl -sS -H "Authorization: Bearer $TOKEN" $API/sessions/$SESSION/events | grep -q turn.ended; do sleep 1; done
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Generator[DaemonProcess]:
    daemon = DaemonProcess(tmp_path / "data")
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def environment(tmp_path: Path, daemon: DaemonProcess) -> dict[str, str]:
    """A folder with `.venv/bin/everyagent`, like a checkout."""
    command = tmp_path / ".venv" / "bin" / "everyagent"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m everyagent "$@"\n')
    command.chmod(0o700)
    if shutil.which("curl") is None:
        curl = command.with_name("curl")
        curl.write_text(f"#!{sys.executable}\n{CURL}")
        curl.chmod(0o700)
    ours = {"EVERYAGENT_DATA_DIR": str(daemon.data_dir), "EVERYAGENT_URL": daemon.url, "EVERYAGENT_TOKEN": TOKEN}
    return {**os.environ, **ours, "HOME": str(tmp_path), "PATH": f"{command.parent}:{os.environ['PATH']}"}


def test_the_curl_lines_work(tmp_path: Path, daemon: DaemonProcess, environment: dict[str, str]) -> None:
    (lines,) = [block for block in SHELL if "curl" in block]
    lines = lines.replace("http://127.0.0.1:2468", daemon.url).replace("curl -s", "curl -sS --fail-with-body")
    lines = lines.replace("curl -N", "curl -sS -N --max-time 5")
    lines = lines.replace("\n# Read the session's", f"{UNTIL_THE_TURN_ENDED}\n# Read the session's")
    done = subprocess.run(["sh", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert '"sessionId":"my-session-' in done.stdout, done.stderr
    assert '"raw":{"message":"Hi there.' in done.stdout
    assert "event: message" in done.stdout
    assert "it works" in done.stdout


def test_the_terminal_example_works(tmp_path: Path, environment: dict[str, str]) -> None:
    (line,) = [block for block in SHELL if "run mock" in block]
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr  # it asks for permission, and there is no terminal
    assert "permission" in done.stderr.lower()


def test_the_python_example_works(tmp_path: Path, environment: dict[str, str]) -> None:
    (example,) = [block for block in PYTHON if "everyagent.client" in block]
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "turn.ended" in done.stdout


def test_every_block_is_run_by_a_test_or_is_a_target_of_the_makefile() -> None:
    tried = ("curl", "run mock", "keys create", "agents install", "ANTHROPIC_BASE_URL", 'export PATH="$PWD/.venv/bin:')
    for block in SHELL:
        assert sum(words in block for words in tried) == 1 or all(
            line.startswith("make ") for line in block.splitlines()
        )


def test_the_lines_for_a_team_work(tmp_path: Path, environment: dict[str, str]) -> None:
    (lines,) = [block for block in SHELL if "keys create" in block]
    done = subprocess.run(["sh", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "everyagent" in done.stdout
    assert len(list(tmp_path.glob("everyagent.tar.gz"))) == 1


def test_the_agents_are_installed_as_the_example_says(tmp_path: Path, environment: dict[str, str]) -> None:
    """Those that are on the machine already are not fetched again."""
    (lines,) = [block for block in SHELL if "agents install" in block]
    for name, program in PROGRAMS.items():
        command = tmp_path / ".venv" / "bin" / name
        command.write_text(f"#!/bin/sh\necho {program.TESTED_VERSION}\n")
        command.chmod(0o700)
        environment[program.BINARY_VARIABLE] = str(command)
    done = subprocess.run(["sh", "-ec", lines], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, program in PROGRAMS.items():
        assert re.search(rf"^{name} .*{re.escape(program.TESTED_VERSION)}", done.stdout, re.MULTILINE), done.stdout


def test_the_managed_agents_example_works(tmp_path: Path, daemon: DaemonProcess, environment: dict[str, str]) -> None:
    (example,) = [block for block in PYTHON if "import Anthropic" in block]
    (exports,) = [block for block in SHELL if "ANTHROPIC_BASE_URL" in block]
    lines = exports.replace("http://127.0.0.1:2468", daemon.url) + f'{sys.executable} -c "$EXAMPLE"'
    given = {**environment, "EXAMPLE": example}
    done = subprocess.run(["sh", "-c", lines], cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "session.status_idle"
    assert "agent.message" in done.stdout
