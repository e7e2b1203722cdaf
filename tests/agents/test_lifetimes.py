"""Sessions of each lifetime on the real agents, whose processes are killed or exit during a turn."""

import uuid
from collections.abc import Callable, Generator
from pathlib import Path

import httpx2
import pytest
from tests.agents.mortal_program import LINES, WAYS, end, mortal
from tests.agents.stage import daemon_of
from tests.managed.real_model import RealModel
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemStarted, SessionEnded, TurnEnded
from everyagent.model.sessions import Lifetime
from everyagent.runtime.wall_probe import unavailable_reason
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules

MARK = "EVERYAGENT_TEST_SESSION"
HOLD, TALK = "Sleep long", "Say hello"
#: Claude Code refuses a command that only sleeps.
ENDLESS = "tail -f /dev/null"


class Client:
    def __init__(self, http: httpx2.Client, scene: RealModel, folder: Path) -> None:
        self._http, self._scene, self._folder = http, scene, folder
        self._path = ""
        self.mark = ""

    def create(self, lifetime: Lifetime, name: str) -> None:
        body = {
            "agent": self._scene.agent,
            "model": self._scene.model,
            "directory": str(self._folder),
            "lifetime": lifetime,
            "permissionMode": "bypass",
            "env": {**self._scene.environment, MARK: name},
        }
        created = self._http.post("/v1/sessions", json=body)
        assert created.is_success, created.text
        assert created.json()["lifetime"] == lifetime
        self._path = f"/v1/sessions/{created.json()['sessionId']}"
        self.mark = f"{MARK}={name}"

    def send(self, text: str) -> None:
        assert self._http.post(f"{self._path}/messages", json={"message": text}).is_success

    def data(self) -> list[object]:
        return [decode_event(body.encode()).data for body in self._lines()]

    def _lines(self) -> list[str]:
        lines = self._http.get(f"{self._path}/export", params={"format": "jsonl"}).text.splitlines()
        return [line for line in lines if '"event_id"' in line]

    def until(self, kind: type, number: int = 1) -> list[object]:
        """All events, once there are so many of a kind."""

        def met() -> list[object] | None:
            data = self.data()
            return data if sum(isinstance(each, kind) for each in data) >= number else None

        return wait_until(met, lambda: "\n".join(self._lines()[-10:]))

    def interrupted_by_death(self, way: str, before: int = 0) -> None:
        """Let the agent end while it runs a command."""
        self.send(HOLD)
        wait_until(lambda: len(self._calls()) > before // 2 or None, lambda: "\n".join(self._lines()[-10:]))
        end(self.mark, way)
        self.until(TurnEnded, before + 1)

    def _calls(self) -> list[object]:
        return [each for each in self.data() if isinstance(each, ItemStarted) and each.item.kind == "tool_call"]

    def info(self) -> dict[str, object]:
        return self._http.get(self._path).json()

    def check(self) -> None:
        rules = Rules()
        for line in self._lines():
            rules.feed_body(line.encode())
        assert [str(each) for each in rules.finish()] == []

    def terminate(self) -> None:
        assert self._http.post(f"{self._path}/terminate").is_success


Start = Callable[[Lifetime, str], Client]


@pytest.fixture(
    scope="module",
    params=[*((agent, "none") for agent in sorted(SURROUNDINGS)), ("claude", "namespace")],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def staged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[str, DaemonProcess]]:
    agent, isolation = request.param
    if isolation == "namespace" and (reason := unavailable_reason()):
        pytest.skip(f"no walls here: {reason}")
    folder = tmp_path_factory.mktemp("home")
    environment = SURROUNDINGS[agent](folder)
    variable = next(name for name in environment if name.endswith("_BIN"))
    environment[variable] = mortal(environment[variable], folder, walled=isolation == "namespace")
    with daemon_of(tmp_path_factory.mktemp("daemon"), "--isolation", isolation, **environment) as running:
        yield agent, running


@pytest.fixture
def start(staged: tuple[str, DaemonProcess], tmp_path: Path) -> Generator[Start]:
    """Creates sessions of this lifetime, whose agent ends in this way."""
    agent, daemon = staged
    with (
        real_model(agent, daemon, tmp_path) as scene,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as http,
    ):
        clients: list[Client] = []

        def started(lifetime: Lifetime, way: str) -> Client:
            for _ in WAYS:
                scene.run(ENDLESS, when=HOLD)
                scene.say("Hello.", when=TALK)
            client = Client(http, scene, tmp_path)
            client.create(lifetime, f"{uuid.uuid4().hex}-{way}")  # folders of other workers have the same names
            clients.append(client)
            return client

        yield started
        for client in clients:
            client.check()
            client.terminate()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lifetime", ["process", "turn"])
def test_a_session_ends_with_its_agents_process(start: Start, lifetime: Lifetime, way: str) -> None:
    session = start(lifetime, way)
    session.interrupted_by_death(way)
    ended = session.data()[-1]
    assert isinstance(ended, SessionEnded)
    assert ended.terminated_by == "agent"
    assert session.info()["ended"] is True
    if (lifetime, way) == ("process", "exit 0"):
        assert ended == SessionEnded(reason="completed", terminated_by="agent")
        return
    assert ended.reason == "error"
    assert ended.message
    assert ended.exit_code == {"SIGKILL": None, "exit 0": 0, "exit 7": 7}[way]
    if way != "SIGKILL":
        assert ended.stderr
        assert ended.stderr.truncated
        assert ended.stderr.total_lines
        assert ended.stderr.total_lines >= LINES
        assert len((ended.stderr.head or "").splitlines()) == 20
        assert (ended.stderr.tail or "").splitlines()[-1] == f"line {LINES - 1}"
        assert len((ended.stderr.tail or "").splitlines()) == 50


def test_a_turn_session_ends_after_its_first_turn(start: Start) -> None:
    session = start("turn", "turn")
    session.send(TALK)
    assert session.until(TurnEnded)[-1] == SessionEnded(reason="completed", terminated_by="agent")


def test_an_open_session_outlives_its_agents_process(start: Start) -> None:
    session = start("open", "open")
    for number, way in enumerate(WAYS):
        session.interrupted_by_death(way, 2 * number)
        session.send(TALK)
        ended = session.until(TurnEnded, 2 * number + 2)
        assert [each.stop_reason for each in ended if isinstance(each, TurnEnded)][-1] == "end_turn"
    assert session.info()["ended"] is False
