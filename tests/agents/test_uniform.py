"""The same work looks the same on every agent: a command that fails, and who reported what."""

from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from tests.agents.stage import daemon_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.testing.daemon import NO_TLS, DaemonProcess


@pytest.fixture(params=sorted(SURROUNDINGS))
def staged(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[str, DaemonProcess]]:
    with daemon_of(tmp_path, **SURROUNDINGS[request.param](tmp_path)) as daemon:
        yield request.param, daemon


def test_a_failed_command_looks_the_same_on_every_agent(staged: tuple[str, DaemonProcess], tmp_path: Path) -> None:
    agent, daemon = staged
    work = tmp_path / "workspace"
    work.mkdir()
    with (
        real_model(agent, daemon, tmp_path) as model,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
    ):
        model.run("echo done; sh -c 'exit 3'", when="Fail")
        model.say("It failed.", when="Fail")
        body = {
            "agent": agent,
            "model": model.model,
            "directory": str(work),
            "env": model.environment,
            "permissionMode": "bypass",
        }
        path = f"/v1/sessions/{client.post('/v1/sessions', json=body).json()['sessionId']}"
        client.post(f"{path}/messages", json={"message": "Fail"})
        wait_until(lambda: client.get(path).json()["status"] == "idle" or None)
        page = client.get(f"{path}/events", params={"limit": 10_000, "include_raw": True})
        events = page.json()["events"]
        client.post(f"{path}/terminate")
    started, completed = (
        [event for event in events if event["type"] == type and event["data"]["item"]["kind"] == "tool_result"]
        for type in ("item.started", "item.completed")
    )
    (item,) = [event["data"]["item"] for event in completed]
    (part,) = [part for part in item["content"] if part["type"] == "tool_result"]
    assert (item["status"], part["is_error"], part["exit_code"]) == ("failed", True, 3)
    assert "done" in part["output"]
    # No agent reports the start of a result, and each names the call as the model did.
    assert [(event["source"], event["synthetic"]) for event in started] == [("daemon", True)]
    assert part["call_id"] in str(completed[0]["raw"])
    assert not part["call_id"].startswith("prt_")
