"""Each program in `examples/` is run as its text says, against a real daemon with the mock agent."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2
import pytest

from everyagent.runtime.ports import free_port
from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.managed.git_stage import git

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    process = DaemonProcess(tmp_path_factory.mktemp("examples") / "data", "--webhook-networks", "127.0.0.1")
    process.start()
    yield process
    process.stop()


def environment(daemon: DaemonProcess) -> dict[str, str]:
    return {**os.environ, "EVERYAGENT_URL": daemon.url, "EVERYAGENT_TOKEN": TOKEN}


def run(daemon: DaemonProcess, *argv: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=EXAMPLES.parent,
        env=environment(daemon),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def running(daemon: DaemonProcess, *argv: str) -> Generator[IO[str]]:
    """The output of a program that is ended with Ctrl-C."""
    with subprocess.Popen(
        [sys.executable, *argv], cwd=EXAMPLES.parent, env=environment(daemon), stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            yield program.stdout
        finally:
            program.send_signal(signal.SIGINT)
            program.wait()


@pytest.mark.parametrize(("check", "code"), [("test -f made.txt", 0), ("false", 1)])
def test_the_result_that_a_command_accepts_is_kept(
    daemon: DaemonProcess, tmp_path: Path, check: str, code: int
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-qm", "first", "--allow-empty")
    words = ["--agents", "mock", "mock", "--check", check, str(tmp_path), "[tool name=bash command='touch made.txt']"]
    returned, printed = run(daemon, "examples/best_of_two.py", *words)
    assert returned == code, printed
    assert (tmp_path / "made.txt").exists() == (code == 0)
    assert ("mock: accepted, 1 files merged" if code == 0 else "nothing was changed") in printed
    assert not (tmp_path / ".git" / "worktrees").exists()


def test_a_batch_ends_when_its_tasks_or_its_money_do(daemon: DaemonProcess, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.txt"
    tasks.write_text("\n".join(f"[text words={words}]" for words in range(3, 11)))
    words = ["examples/batch.py", "--agent", "mock", "--at-once", "2"]
    code, printed = run(daemon, *words, "--budget", "100000", str(tasks))
    assert code == 0, printed
    assert sorted(int(line.split("\t")[0]) for line in printed.splitlines()) == list(range(1, 9))
    code, printed = run(daemon, *words, "--budget", "0.000001", str(tasks))
    assert code == 1, printed
    assert re.search(r"the budget is spent: \d tasks are left", printed), printed


def test_a_page_gets_its_text_from_an_agent(daemon: DaemonProcess) -> None:
    port = free_port()
    with running(daemon, "examples/web_backend.py", "--agent", "mock", "--port", str(port)) as printed:
        url = printed.readline().strip()
        assert "<form>" in httpx2.get(url).text
        asked = {"q": "[text words=12]", "visitor": "someone"}
        with httpx2.stream("POST", f"{url}ask", params=asked, timeout=120) as response:
            text = "".join(response.iter_text())
        assert len(text.split()) == 12


def test_a_person_answers_by_the_link_of_a_webhook(daemon: DaemonProcess, tmp_path: Path) -> None:
    with running(daemon, "examples/ask_a_person.py", "--port", str(free_port())) as printed:
        assert printed.readline() == "waiting for asks\n"
        with httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=120) as client:
            client.post("/v1/sessions/asked", json={"agent": "mock", "directory": str(tmp_path)}).raise_for_status()
            client.post("/v1/sessions/asked/messages", json={"message": "[ask]"}).raise_for_status()
            line = printed.readline()
            link = line.rpartition("Answer here: ")[2].strip()
            assert "mock asks (permission.requested)" in line
            assert client.get("/v1/sessions/asked/asks").json()["asks"]
            answered = httpx2.post(link, data={"reply": "once"}, timeout=120)
            assert answered.status_code == 200, answered.text
            assert client.get("/v1/sessions/asked/asks").json()["asks"] == []


def test_the_steps_of_the_workflow_are_commands_that_exist(daemon: DaemonProcess, tmp_path: Path) -> None:
    """Its review, with the mock agent in place of the one that needs a key."""
    (step,) = re.findall(r"run: (everyagent run .*)", (EXAMPLES / "review.yml").read_text())
    given = environment(daemon) | {"AGENT": "mock", "PROMPT": "[text words=8]"}
    given["PATH"] = f"{Path(sys.executable).parent}:{given['PATH']}"
    done = subprocess.run(["bash", "-euc", step], cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "review.md").read_text().split()) == 8


def test_every_example_is_in_the_list_and_run_here() -> None:
    listed = re.findall(r"\]\(([\w.]+)\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == sorted(
        path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")
    )
    tests = Path(__file__).read_text()
    assert all(name in tests for name in listed)
