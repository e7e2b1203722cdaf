"""Asks of the real agents outlive the daemon: it is killed or stopped while the agent waits for a permission."""

from collections.abc import Callable, Generator
from pathlib import Path

import httpx2
import pytest
from tests.agents.acp.acp_stage import DIALECTS, surroundings
from tests.agents.stage import daemon_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules


@pytest.fixture(params=[*sorted(SURROUNDINGS), *DIALECTS])
def staged(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[str, DaemonProcess]]:
    agent: str = request.param
    around = SURROUNDINGS[agent](tmp_path) if agent in SURROUNDINGS else surroundings(agent, tmp_path)
    with daemon_of(tmp_path, **around) as daemon:
        yield agent, daemon


class Client:
    """A client of one session, whose daemon may be started again on another port."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self.path = "/v1/sessions"

    def call(self, method: str, path: str = "", body: object = None) -> httpx2.Response:
        url, headers = f"{self._daemon.url}{self.path}{path}", self._daemon.headers
        answer = httpx2.request(method, url, json=body, headers=headers, timeout=LIMIT_SECONDS, verify=NO_TLS)
        assert answer.is_success, answer.text
        return answer

    def until(self, status: str) -> None:
        wait_until(lambda: self.call("GET").json()["status"] == status or None, lambda: self.lines()[-5:])

    def pending(self) -> list[str]:
        return [ask["askId"] for ask in self.call("GET", "/asks").json()["asks"]]

    def restarted(self, end: Callable[[], object]) -> str:
        """Ends the daemon while one ask is open, and starts it again: the same ask is still open."""
        self.until("waiting")
        (before,) = self.pending()
        end()
        self._daemon.start()
        assert self.pending() == [before]
        assert self.call("GET").json()["status"] == "waiting"
        return before

    def lines(self) -> list[str]:
        lines = self.call("GET", "/export?format=jsonl").text.splitlines()
        return [line for line in lines if '"event_id"' in line]


def test_what_was_allowed_after_a_restart_is_not_asked_again(staged: tuple[str, DaemonProcess], tmp_path: Path) -> None:
    agent, daemon = staged
    work = tmp_path / "workspace"
    work.mkdir()
    client = Client(daemon)
    with real_model(agent, daemon, tmp_path) as model:
        model.say("I see.", when="They said: Not that one.")  # first: a transcript may hold the words of the others
        model.run("touch one", when="First of all")
        model.run("touch one", when="The user allowed")
        model.say("Made.", when="The user allowed")
        model.say("Hello.", when="Say hello")
        model.run("touch two", when="And another")
        created = client.call(
            "POST",
            body={
                "agent": agent,
                "model": model.model,
                "directory": str(work),
                "env": model.environment,
                "permissionMode": "bypass",
                "toolPolicies": {"tools": {"bash": "ask"}},
            },
        )
        client.path += f"/{created.json()['sessionId']}"
        client.call("POST", "/messages", {"message": "First of all"})
        ask = client.restarted(daemon.kill)
        client.call("POST", "/messages", {"message": "Say hello"})
        assert client.call("GET").json()["queuedMessages"] == 1, "a message waits for the answers"
        client.call("POST", f"/permissions/{ask}/reply", {"reply": "once"})
        wait_until(lambda: '"Hello."' in "".join(client.lines()) or None, lambda: client.lines()[-5:])
        client.until("idle")
        assert (work / "one").exists()
        client.call("POST", "/messages", {"message": "And another"})
        ask = client.restarted(daemon.stop)
        client.call("POST", f"/permissions/{ask}/reply", {"reply": "reject", "message": "Not that one."})
        wait_until(lambda: '"I see."' in "".join(client.lines()) or None, lambda: client.lines()[-5:])
        client.until("idle")
        lines = client.lines()
        client.call("POST", "/terminate")
    assert not (work / "two").exists()
    assert sum('"status":"waiting"' in line for line in lines) == 2, "the allowed call did not wait again"
    rules = Rules()
    for line in lines:
        rules.feed_body(line.encode())
    assert [str(each) for each in rules.finish()] == []
