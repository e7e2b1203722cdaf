"""Every child process is started by one function: without the daemon's secrets, and ended with the daemon."""

import ast
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running_processes import alive
from tests.waiting import LIMIT_SECONDS, wait_until

import everyagent
from everyagent.managed.packages.install import install
from everyagent.managed.packages.subprocesses import Child
from everyagent.managed.resources.environments.shape import Packages
from everyagent.runtime import command
from everyagent.testing.daemon import DaemonProcess

SOURCE = Path(everyagent.__file__).parent
#: Files that may start a process, because they are that function, or helpers of it that run before a wall exists.
STARTERS = {"spawn.py", "reaper.py", "wall_probe.py", "restricted_shell.py"}
#: Not part of the daemon: the program inside of a wall, an agent, a cluster to try, test tools. The command that prints
#: the vault's key is the operator's, runs before the daemon serves, and needs the operator's environment; so does the
#: login of an agent's program, which runs in the user's terminal. A runner replaces itself, to lose its key's variable.
ELSEWHERE = (
    *("runtime/entry/", "agents/mock/program/", "dev_cluster/", "testing/", "vault_key.py", "cli/agents.py"),
    "cli/runner.py",
)
STARTS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "anyio": {"open_process", "run_process"},
    "os": {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp"},
    "pty": {"spawn", "fork"},
    "multiprocessing": {"Process", "Pool"},
}
SECRETS = {"AWS_SECRET_ACCESS_KEY": "planted-1", "NPM_TOKEN": "planted-2", "CARGO_REGISTRY_TOKEN": "planted-3"}


def is_start(module: str, name: str) -> bool:
    return name in STARTS.get(module, ()) or (module == "os" and name.startswith(("exec", "spawn")))


def starts(tree: ast.AST) -> Iterator[tuple[int, bool]]:
    """The line of each start of a process, and whether it is given an environment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(is_start(node.module or "", each.name) for each in node.names):
            yield node.lineno, False
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        named = isinstance(owner, ast.Name) and is_start(owner.id, node.func.attr)
        if named or node.func.attr in ("subprocess_exec", "subprocess_shell"):
            yield node.lineno, any(keyword.arg == "env" for keyword in node.keywords)


def test_no_file_but_those_that_must_starts_a_process() -> None:
    found = set[str]()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(ELSEWHERE):
            continue
        for line, given in starts(ast.parse(path.read_text())):
            where = f"{name}:{line}"
            assert name.removeprefix("runtime/") in STARTERS, (
                f"{where} starts a process: use everyagent.runtime.command"
            )
            assert given, f"{where} passes the daemon's whole environment on"
            found.add(path.name)
    assert found == STARTERS


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['x'])",
        "from asyncio import create_subprocess_exec",
        "from anyio import open_process",
        "import os\nos.execv('x', [])",
        "loop.subprocess_exec(None)",
    ],
)
def test_a_new_bare_start_is_found(code: str) -> None:
    assert [given for _, given in starts(ast.parse(code))] == [False]


def slow_program(path: Path, *, when: str) -> None:
    """A program that writes its environment, starts a stray process in a session of its own, and runs on."""
    path.write_text(
        f"""#!/bin/sh
if [ "$1" != {when} ]; then exit 1; fi
env > {path}.seen
setsid env -i sh -c 'echo $$ > {path}.stray.new; mv {path}.stray.new {path}.stray; exec sleep 600' &
echo $$ > {path}.pid.new
mv {path}.pid.new {path}.pid
exec sleep 600
"""
    )
    path.chmod(0o755)


def pid_in(path: Path) -> int:
    return int(wait_until(lambda: path.exists() and path.read_text()) or 0)


@pytest.fixture
def daemon(tmp_path: Path) -> Generator[DaemonProcess]:
    programs = tmp_path / "bin"
    programs.mkdir()
    slow_program(programs / "npm", when="pack")
    slow_program(programs / "claude", when="--version")
    environment = {**SECRETS, "PATH": f"{programs}:/usr/bin:/bin", "EVERYAGENT_CLAUDE_BIN": ""}
    running = DaemonProcess(tmp_path / "data", environment=environment)
    running.start()
    yield running
    if running.alive:
        running.stop()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_versions_and_installations_see_no_secret_and_end_with_the_daemon(
    daemon: DaemonProcess, tmp_path: Path, how: str
) -> None:
    """The daemon asks for versions when it starts. The installation is that of an agent from npm."""
    asking = subprocess.Popen(
        [sys.executable, "-c", _INSTALL, daemon.url, daemon.headers["authorization"]], stderr=subprocess.DEVNULL
    )
    files = [tmp_path / "bin" / f"{name}.{kind}" for name in ("npm", "claude") for kind in ("pid", "stray")]
    pids = [pid_in(file) for file in files]
    assert all(alive(pid) for pid in pids)
    for name in ("npm", "claude"):
        seen = (tmp_path / "bin" / f"{name}.seen").read_text()
        assert "PATH=" in seen
        assert "EVERYAGENT_DAEMON=" in seen
        assert "planted-" not in seen
    getattr(daemon, how)()
    wait_until(lambda: not any(alive(pid) for pid in pids))
    asking.wait(LIMIT_SECONDS)


_INSTALL = """
import ssl, sys, httpx2
url, token = sys.argv[1:]
no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
body = {"reinstall": True}
headers = {"authorization": token}
httpx2.post(url + "/v1/agents/codex/install", json=body, headers=headers, timeout=600, verify=no_tls)
"""


def test_package_managers_of_environments_see_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gem = tmp_path / "gem"
    gem.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
    gem.chmod(0o755)
    for name, value in {**SECRETS, "PATH": f"{tmp_path}:/usr/bin:/bin", "https_proxy": "http://proxy:1"}.items():
        monkeypatch.setenv(name, value)
    assert not install(Packages(gem=["rack"]), tmp_path / "packages", "/bin", Child()).problems
    seen = (tmp_path / "seen").read_text()
    assert "planted-" not in seen
    assert "https_proxy=http://proxy:1" in seen


def test_a_command_is_ended_after_its_limit() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        command.run(["sleep", "600"], environment={"PATH": "/usr/bin:/bin"}, limit=0.05)


def test_a_command_is_ended_with_what_it_started(tmp_path: Path) -> None:
    slow_program(tmp_path / "slow", when="now")
    argv = [str(tmp_path / "slow"), "now"]
    with ThreadPoolExecutor() as threads:
        running = threads.submit(command.run, argv, environment={"PATH": "/usr/bin:/bin"}, limit=LIMIT_SECONDS)
        pids = [pid_in(tmp_path / f"slow.{kind}") for kind in ("pid", "stray")]
        command.end_all()
        with pytest.raises(subprocess.CalledProcessError):
            running.result()
    assert not any(alive(pid) for pid in pids)


def test_the_output_of_a_command_is_bounded() -> None:
    script = f"head -c {3 * command.MAX_OUTPUT} /dev/zero; echo no >&2; exit 3"
    with pytest.raises(subprocess.CalledProcessError) as failed:
        command.run(["sh", "-c", script], environment={"PATH": "/usr/bin:/bin"}, limit=LIMIT_SECONDS)
    assert (failed.value.returncode, failed.value.stderr) == (3, "no\n")
    assert command.MAX_OUTPUT <= len(failed.value.stdout) < 2 * command.MAX_OUTPUT
