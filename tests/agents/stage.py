"""A session of the real program behind a real daemon, driven through the API.

Each agent's folder has a subclass with its environment and its scripted model.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import httpx2
import msgspec
from platformdirs import user_cache_path
from tests.runner.runner_process import DaemonWithRunner
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.agents import packages
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, ItemDelta, TurnEnded
from everyagent.model.items import Item, text_of
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules


class Script(Protocol):
    def release_all(self) -> None: ...


class Model(Protocol):
    """A scripted model: `everyagent.testing` has one for each API that agents speak."""

    @property
    def script(self) -> Script: ...


#: Whether all sessions of these tests run on a runner.
ON_RUNNER = bool(os.environ.get("EVERYAGENT_TEST_ON_RUNNER"))
T = TypeVar("T")
M_co = TypeVar("M_co", bound=Model, covariant=True)


class Stage(ABC, Generic[M_co]):
    """One session of the daemon, with a home, a workspace and a model of its own."""

    agent: ClassVar[str]

    def __init__(self, daemon: DaemonProcess, model: M_co, folder: Path) -> None:
        self.daemon = daemon
        self._model = model
        self.home = folder / "home"
        self.workspace = folder / "work"
        for each in (self.home, self.workspace):
            each.mkdir(exist_ok=True)
        self.id = ""

    @property
    def model(self) -> M_co:
        return self._model

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """The session's environment: it points the agent to the scripted model and to the home of this stage."""

    # -- requests of a client ---------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: object = None, *, expect: int | None = None) -> httpx2.Response:
        url = f"{self.daemon.url}/v1{path}"
        answer = httpx2.request(
            method, url, json=body, headers=self.daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS
        )
        if expect is None:
            assert answer.is_success, answer.text
        else:
            assert answer.status_code == expect, answer.text
        return answer

    def create(self, *, env: Mapping[str, str] | None = None, **fields: object) -> Self:
        body: dict[str, object] = {
            "agent": self.agent,
            "directory": str(self.workspace),
            "env": {**self.environment(), **(env or {})},
            **place_of(self.daemon),
            **fields,
        }
        self.id = msgspec.json.decode(self.call("POST", "/sessions", body).content)["sessionId"]
        return self

    def send(self, text: str, **fields: object) -> None:
        self.call("POST", f"/sessions/{self.id}/messages", {"message": text, **fields})

    def turn(self, text: str, **fields: object) -> TurnEnded:
        """Send a message, and wait for the end of its turn."""
        before = len(self.all(TurnEnded))
        self.send(text, **fields)
        return self.next(TurnEnded, before + 1)

    def cancel(self) -> None:
        self.call("POST", f"/sessions/{self.id}/cancel")

    def terminate(self) -> None:
        self.call("POST", f"/sessions/{self.id}/terminate")

    def change(self, **fields: object) -> None:
        self.call("PATCH", f"/sessions/{self.id}", fields)

    def permit(self, permission_id: str, reply: str, message: str | None = None) -> None:
        body: dict[str, object] = {"reply": reply, **({"message": message} if message else {})}
        self.call("POST", f"/sessions/{self.id}/permissions/{permission_id}/reply", body)

    def answer(self, question_id: str, *answers: list[str]) -> None:
        self.call("POST", f"/sessions/{self.id}/questions/{question_id}/reply", {"answers": list(answers)})

    def reject(self, question_id: str) -> None:
        self.call("POST", f"/sessions/{self.id}/questions/{question_id}/reject", {})

    # -- state and events -------------------------------------------------------------------------------------

    def info(self) -> dict[str, object]:
        return msgspec.json.decode(self.call("GET", f"/sessions/{self.id}").content, type=dict[str, object])

    def bodies(self) -> list[bytes]:
        answer = self.call("GET", f"/sessions/{self.id}/events?limit=10000")
        page = msgspec.json.decode(answer.content, type=dict[str, msgspec.Raw])
        return [bytes(raw) for raw in msgspec.json.decode(page["events"], type=list[msgspec.Raw])]

    def all(self, kind: type[T]) -> list[T]:
        events = [decode_event(body).data for body in self.bodies()]
        return [data for data in events if isinstance(data, kind)]

    def next(self, kind: type[T], number: int = 1) -> T:
        """Wait for the `number`th event of a kind."""
        return self.until(lambda: found if len(found := self.all(kind)) >= number else None)[number - 1]

    def until(self, met: Callable[[], T | None]) -> T:
        return wait_until(met, lambda: "\n".join(body.decode()[:500] for body in self.bodies()[-15:]))

    def until_output(self, words: str) -> None:
        """Wait until the words are in the agent's streamed output."""
        self.until(lambda: words in "".join(delta.delta for delta in self.all(ItemDelta)) or None)

    def items(self, kind: str) -> list[Item]:
        return [done.item for done in self.all(ItemCompleted) if done.item.kind == kind]

    def replies(self) -> list[str]:
        """The agent's own messages, without those of sub-agents and empty ones."""
        said = [item for item in self.items("message") if item.role == "assistant" and not item.subagent]
        return [text_of(item) for item in said if text_of(item)]

    def violations(self) -> list[str]:
        """Violations of the order rules in all events, once no turn runs."""
        self.until(lambda: self.info()["status"] not in ("running", "waiting"))
        rules = Rules()
        for body in self.bodies():
            rules.feed_body(body)
        return [str(each) for each in rules.finish()]

    @contextmanager
    def played(self) -> Generator[Self]:
        """Check the order rules after the test, and terminate the session."""
        yield self
        self.model.script.release_all()
        assert self.violations() == []
        self.terminate()

    # -- processes --------------------------------------------------------------------------------------------

    def processes(self, words: str) -> list[int]:
        """Processes in the session's home that have these words in their command line.

        A fork that still has its parent's command line is not counted.
        """
        wanted = f"HOME={self.home}".encode()
        found: dict[int, tuple[int, bytes]] = {}
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                command = Path(f"/proc/{name}/cmdline").read_bytes()
                parent = int(Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            if wanted in environment and words.encode() in command:
                found[int(name)] = parent, command
        return [pid for pid, (parent, command) in found.items() if found.get(parent, (0, b""))[1] != command]


# -- fixtures of the agents' conftests ------------------------------------------------------------------------


def tested_binary(agent: str, variable: str, pinned: packages.Program, version: str) -> str:
    """The program that `variable` names, or else the pinned one, downloaded once into a cache."""
    named = os.environ.get(variable)
    if named:
        return named
    cache = os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents"
    path = packages.install(pinned, Path(cache) / agent)
    assert packages.version_of(path) == version
    return str(path)


def place_of(daemon: DaemonProcess) -> dict[str, object]:
    """The fields of a new session that name the runner, if the daemon has one."""
    return {"runner": daemon.runner.name} if isinstance(daemon, DaemonWithRunner) else {}


@contextmanager
def daemon_of(folder: Path, *flags: str, **environment: str) -> Generator[DaemonProcess]:
    """A daemon in an environment. It must exit with code 0."""
    kind = DaemonWithRunner if ON_RUNNER else DaemonProcess
    with _running(kind(folder / "data", *flags, environment=environment)) as daemon:
        yield daemon


@contextmanager
def daemon_with_runner(folder: Path, **environment: str) -> Generator[DaemonProcess]:
    """A daemon whose sessions run on a runner."""
    with _running(DaemonWithRunner(folder / "data", environment=environment)) as daemon:
        yield daemon


@contextmanager
def _running(daemon: DaemonProcess) -> Generator[DaemonProcess]:
    daemon.start()
    try:
        yield daemon
    finally:
        if isinstance(daemon, DaemonWithRunner):
            daemon.runner.stop()
        code = daemon.stop()
    assert code == 0
