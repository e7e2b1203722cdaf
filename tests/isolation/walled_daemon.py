"""A daemon with secrets around it, and a session of the mock agent whose shell tries to reach them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.waiting import LIMIT_SECONDS, wait_until

import everyagent
from everyagent.testing.daemon import NO_TLS

_FOLDER = Path(__file__).parent
PLANTED = "planted-in-the-environment-of-the-daemon"
NOBODY = 65534
#: The users that daemons of tests run as.
USERS = {"root": 0, "nobody": NOBODY} if os.geteuid() == 0 else {"user": os.geteuid()}
_VICTIM = "everyagent-victim"


class WalledDaemon:
    """`user` is the id of the user that runs the daemon. `base` holds its data and the folders of its sessions.

    `environment` is added to that of the daemon.
    """

    def __init__(self, base: Path, user: int, *flags: str, **environment: str) -> None:
        self.base = base
        self.data = base / "data"
        self.user = user
        self._flags = flags
        self._environment = environment
        for name in ("work", "other", "home", "home/.ssh", "home/.codex"):
            (base / name).mkdir(parents=True)
        for name in ("other/secret", "home/.ssh/id", "home/.codex/auth.json", "home/.bashrc", "temporary"):
            (base / name).write_text("a secret")
        for path in (base, *base.rglob("*")):
            os.chown(path, user, user)
        self.url = ""
        self._sessions = 0

    @contextmanager
    def running(self) -> Generator["WalledDaemon"]:
        python, paths = interpreter_for(self.user)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base / "home"),
            "PYTHONPATH": paths,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PLANTED_API_KEY": PLANTED,
            **self._environment,
        }
        argv = [
            python,
            "-m",
            "everyagent",
            "serve",
            "--port",
            "0",
            "--json",
            "--data-dir",
            str(self.data),
            *self._flags,
        ]
        user = None if self.user == os.geteuid() else self.user
        with subprocess.Popen(
            argv,
            cwd=self.base,
            env=environment,
            stdout=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        ) as daemon:
            try:
                assert daemon.stdout
                started = json.loads(daemon.stdout.readline())
                self.url, self.token, self.pid = started["url"], started["token"], daemon.pid
                yield self
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(LIMIT_SECONDS)

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx2.request(
            method, f"{self.url}/v1{path}", json=body, headers=headers, timeout=LIMIT_SECONDS, verify=NO_TLS
        )

    def session(self, directory: Path, **fields: object) -> str:
        self._sessions += 1
        made = self.call("POST", "/sessions", {"agent": "mock", "directory": str(directory), **fields})
        assert made.is_success, made.text
        return made.json()["sessionId"]

    def shell(self, session: str, command: str) -> str:
        """The output of a command that the agent runs; it must succeed."""
        return self.result(session, f"[tool name=bash command={json.dumps(command)}]")

    def result(self, session: str, prompt: str) -> str:
        """The output of the last tool of a turn."""
        answer = self.call("POST", f"/sessions/{session}/messages/stream", {"message": prompt})
        assert answer.is_success, answer.text
        events = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
        results = [
            part["output"]
            for event in events
            if event["type"] == "item.completed" and event["data"]["item"]["kind"] == "tool_result"
            for part in event["data"]["item"]["content"]
            if part["type"] == "tool_result"
        ]
        assert results, answer.text
        return results[-1]

    def attempts(
        self,
        directory: Path,
        names: tuple[str, ...] = (),
        shell: Callable[[str, str], str] | None = None,
        **fields: object,
    ) -> dict[str, str | None]:
        """The result of each attempt in the shell of a new session. `shell` runs a command; by default, mock does."""
        python, _ = interpreter_for(self.user)
        with ExitStack() as around:
            facts = around.enter_context(self._surroundings())
            (directory / "facts.json").write_text(json.dumps(facts | {"number": str(self._sessions + 1)}))
            shutil.copytree(_FOLDER, directory / "tests" / "isolation", dirs_exist_ok=True)
            session = self.session(directory, **fields)
            command = f"{python} -S -m tests.isolation.attempts facts.json {' '.join(names)}"
            output = (shell or self.shell)(session, command)
        return json.loads(output)

    @contextmanager
    def _surroundings(self) -> Generator[dict[str, str]]:
        """Things of the machine that an agent must not reach."""
        import everyagent.runtime.entry.calls as calls

        abstract = f"everyagent-{os.getpid()}-{self.user}"
        key = 0x45410000 + os.getpid() % 0xFFFF
        path = str(self.base / "socket")
        memory = calls.libc.shmget(key, 4096, 0o1666)
        victim = subprocess.Popen(["sh", "-c", "read word", _VICTIM], stdin=subprocess.PIPE)
        with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as unnamed:
            named.bind(path)
            os.chmod(path, 0o777)
            unnamed.bind("\0" + abstract)
            named.listen()
            unnamed.listen()
            disk = os.stat("/").st_dev
            try:
                yield {
                    "data": str(self.data),
                    "other": str(self.base / "other"),
                    "home": str(self.base / "home"),
                    "temporary": str(self.base / "temporary"),
                    "planted": PLANTED,
                    "daemon": str(self.pid),
                    "victim": str(victim.pid),
                    "victim_name": _VICTIM,
                    "package": str(Path(everyagent.__file__).parent),
                    "prefix": sys.prefix,
                    "disk": f"{os.major(disk)}:{os.minor(disk)}",
                    "socket": path,
                    "abstract": abstract,
                    "memory": str(key),
                    "url": self.url,
                }
                assert victim.poll() is None, "an agent ended a process of the machine"
            finally:
                victim.kill()
                victim.communicate()
                calls.libc.shmctl(memory, 0, None)
                os.unlink(path)

    def untouched(self) -> None:
        """Nothing outside of the session's directory has changed."""
        for name in ("other/secret", "home/.ssh/id", "home/.bashrc", "temporary"):
            assert (self.base / name).read_text() == "a secret"
        assert not Path("/usr/everyagent-attempt").exists()
        assert not Path("/usr/bin/everyagent-attempt").exists()


@contextmanager
def daemon_of(user: int) -> Generator[WalledDaemon]:
    """A running daemon of a user. Skips the test if there is no Python for them."""
    if not interpreter_for(user)[0]:
        pytest.skip("there is no Python that this user may run")
    with opened_folder() as base, WalledDaemon(base / "here", user).running() as running_daemon:
        yield running_daemon


@contextmanager
def opened_folder() -> Generator[Path]:
    """A temporary folder that other users may enter. Those of pytest are closed whenever another run of it begins."""
    with tempfile.TemporaryDirectory(prefix="everyagent-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def interpreter_for(user: int) -> tuple[str, str]:
    """A Python that this user may run, and its search path; this one if possible, else the system's."""
    paths = f"{Path(everyagent.__file__).parents[1]}:{sysconfig.get_path('purelib')}"
    if user == os.geteuid():
        return sys.executable, paths
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            tried = subprocess.run(
                [python, "-c", "import everyagent.daemon"],
                env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
                user=user,
                group=user,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                timeout=LIMIT_SECONDS,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return python, paths
    return "", paths


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def wait_until_gone(pid: int) -> None:
    wait_until(lambda: gone(pid), f"process {pid} has ended")


def running(name: str) -> list[int]:
    """Processes with this word in their arguments."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if name.encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
    return found
