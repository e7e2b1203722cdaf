"""A session created with an Idempotency-Key is created and started once, even if the daemon is killed."""

import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import cast

import httpx2
import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.conftest import rebuilt
from tests.managed.raw import TOOLSET, Event, Raw
from tests.waiting import wait_until

ROUNDS = 6


@pytest.fixture
def own(tmp_path: Path) -> Generator[DaemonProcess]:
    running = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    running.start()
    yield running
    running.stop()
    assert rebuilt(running)


def test_one_session_is_created_even_if_the_daemon_is_killed(own: DaemonProcess) -> None:
    raw = Raw(own)
    raw.create(TOOLSET)
    first = raw.call("GET", raw.path)
    uploaded = raw.upload("in.txt", b"in")
    body = {
        "agent": cast("Event", first["agent"])["id"],
        "environment_id": first["environment_id"],
        "resources": [{"type": "file", "file_id": uploaded, "mount_path": "/workspace/in.txt"}],
        "initial_events": [{"type": "user.message", "content": [{"type": "text", "text": "[hello]"}]}],
    }
    began = time.monotonic()
    raw.call("POST", "/sessions", body, **{"idempotency-key": "undisturbed"})
    takes = time.monotonic() - began
    for number in range(ROUNDS):
        asked = {**body, "metadata": {"round": str(number)}}
        key = {"idempotency-key": f"round-{number}"}
        sending = threading.Thread(target=_send, args=(own, asked, key))
        sending.start()
        time.sleep(takes * number / ROUNDS)  # wherever it is then
        own.kill()
        sending.join()
        own.start()
        made = raw.call("POST", "/sessions", asked, **key)
        assert raw.call("POST", "/sessions", asked, **key) == made
        listed = cast("list[Event]", raw.call("GET", "/sessions?limit=100")["data"])
        mine = [each["id"] for each in listed if each["metadata"] == {"round": str(number)}]
        assert mine == [made["id"]]
        raw.session_id = str(made["id"])
        assert made["status"] == "running"
        _rests(raw)
        assert len([event for event in raw.events() if event["type"] == "user.message"]) == 1
        raw.say("[hello]")  # the first turn may have been cut
        raw.wait_idle("end_turn")
        assert (own.data_dir / "workspaces" / raw.session_id / "workspace" / "in.txt").read_bytes() == b"in"
    listed = cast("list[Event]", raw.call("GET", "/sessions?limit=100")["data"])
    made = {each["id"] for each in listed}
    wait_until(lambda: {path.name for path in (own.data_dir / "workspaces").iterdir()} == made)
    raw.close()


def _send(daemon: DaemonProcess, body: object, key: dict[str, str]) -> None:
    raw = Raw(daemon)
    try:
        raw.call("POST", "/sessions", body, **key)
    except (httpx2.HTTPError, AssertionError):
        return  # the daemon is gone
    finally:
        raw.close()


def _rests(raw: Raw) -> None:
    wait_until(lambda: raw.status() == "idle" and raw.events(), raw.events)
