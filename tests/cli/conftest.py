import os
import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from command_line import COMMAND, Cli, Daemon, Golden, Outcome, environment

from everyagent import logs
from everyagent.cli import main, output
from everyagent.client import Client

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("EVERYAGENT_GOLDEN") == "write"


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    data_dir = tmp_path_factory.mktemp("daemon")
    words = ["serve", "--port", "0", "--json", "--default-agent", "mock"]
    with subprocess.Popen(COMMAND + words, env=environment(data_dir), stdout=subprocess.PIPE) as process:
        assert process.stdout
        said = msgspec.json.decode(process.stdout.readline())
        yield Daemon(said["url"], said["token"], data_dir)
        process.terminate()
        assert process.wait(30) == 0


@pytest.fixture
def client(daemon: Daemon) -> Generator[Client]:
    with Client(daemon.url, daemon.token) as client:
        yield client


@pytest.fixture
def no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """The CLI with an empty data folder and no running daemon."""
    monkeypatch.setenv("EVERYAGENT_PORT", "9")
    return _cli(tmp_path / "data", monkeypatch, capfd)


@pytest.fixture
def cli(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    return _cli(daemon.data_dir, monkeypatch, capfd)


def _cli(data_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    for name in os.environ:
        if name.startswith("EVERYAGENT_") and name != "EVERYAGENT_PORT":
            monkeypatch.delenv(name)
    for name, value in environment(data_dir).items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> Outcome:
        output.out.cache_clear()
        output.err.cache_clear()
        capfd.readouterr()
        try:
            code = main.run(words)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            logs.set_up("auto")  # a command that runs a daemon of its own logs less; other tests run in this process
        said = capfd.readouterr()
        return Outcome(code, said.out, said.err)

    return run


@pytest.fixture
def golden(daemon: Daemon) -> Golden:
    """Compare output with a golden file, except values that vary. EVERYAGENT_GOLDEN=write updates it."""

    def check(name: str, text: str) -> None:
        text = text.replace(daemon.url, "URL").replace(str(daemon.data_dir), "DATA").replace(os.getcwd(), "CWD")
        text = re.sub(r"\b(sess|itm|turn|perm|ques|evt)_[0-9a-z]{26}", r"\1_ID", text)
        text = re.sub(r"mock-[0-9a-f]{12}", "mock-ID", text)
        text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", text)
        text = re.sub(r"\d+s ago", "AGE", text)
        text = re.sub(r"\d+\.\d s\b", "N s", text)
        file = GOLDEN / f"{name}.txt"
        if WRITE:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text()

    return check
