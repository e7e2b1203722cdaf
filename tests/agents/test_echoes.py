"""User messages and native starts on the real agents: each native frame that repeats or begins one has its event."""

from collections.abc import Generator
from pathlib import Path

import httpx2
import msgspec
import pytest
from tests.agents.stage import daemon_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.model.decoding import decode_event
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import Rules

#: Where in its frame an agent names the message that it repeats; None if it has no name for it.
NATIVE = {"codex": ("params", "item", "id"), "opencode": ("properties", "info", "id"), "amp": None}
#: A word of the frame that begins the native session.
START = {"claude": "init", "codex": "thread/started", "opencode": "id", "amp": "init"}


@pytest.fixture(params=sorted(SURROUNDINGS))
def staged(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[str, DaemonProcess]]:
    with daemon_of(tmp_path, **SURROUNDINGS[request.param](tmp_path)) as daemon:
        yield request.param, daemon


def test_the_agents_echo_completes_the_users_message(staged: tuple[str, DaemonProcess], tmp_path: Path) -> None:
    agent, daemon = staged
    work = tmp_path / "workspace"
    work.mkdir()
    with (
        real_model(agent, daemon, tmp_path) as model,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
    ):
        for _ in range(2):
            model.say("Hello.", when="Greet")
        body = {"agent": agent, "model": model.model, "directory": str(work), "env": model.environment}
        path = f"/v1/sessions/{client.post('/v1/sessions', json=body).json()['sessionId']}"
        for number in range(2):
            client.post(f"{path}/messages", json={"message": f"Greet me {number}"})
            wait_until(lambda: client.get(path).json()["status"] == "idle" or None)
        page = client.get(f"{path}/events", params={"limit": 10_000, "include_raw": True})
        events = page.json()["events"]
        client.post(f"{path}/terminate")
    users = [event for event in events if event["data"].get("item", {}).get("role") == "user"]
    assert [(event["type"], event["source"]) for event in users] == 2 * [
        ("item.started", "daemon"),
        ("item.completed", "agent" if agent in NATIVE else "daemon"),
    ]
    for number, completed in enumerate(users[1::2]):
        item, raw = completed["data"]["item"], completed["raw"]
        assert item["content"] == [{"type": "text", "text": f"Greet me {number}"}]
        place = NATIVE.get(agent)
        for name in place or ():
            raw = raw[name]
        assert item["native_item_id"] == (raw if place else None)
    (started,) = [event for event in events if "native_session_id" in event["data"]]
    assert (started["type"], started["source"]) == ("session.updated", "agent")
    assert started["data"]["native_session_id"] == events[-1]["native_session_id"]
    assert START[agent] in str(started["raw"])
    rules = Rules(include_raw=True)
    for event in events:
        rules.feed(decode_event(msgspec.json.encode(event)))
    assert [str(each) for each in rules.finish()] == []
