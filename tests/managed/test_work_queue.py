"""The work queue: SDK calls, access keys, leases, and the SDK's real worker."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest

from everyagent.managed.work_queue.queue import MAX_BACKOFF, backoff
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.agents.stage import daemon_of
from tests.compat.rows import passed
from tests.managed import parity
from tests.managed import test_rosters as rosters
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, Event, Raw, required
from tests.managed.sdks import FLOWS, NEWEST, NODE, PYTHON, Sdk
from tests.managed.test_hosted_on_real_agents import scene_of
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

SELF_HOSTED = {"type": "self_hosted"}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


@pytest.mark.parametrize("sdk", [*PYTHON[:2], NODE], ids=lambda sdk: sdk.name)
def test_every_sdk_with_a_work_queue_uses_it(sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, "work", "mock", sdk.run("work", daemon.url))


def queue_of(raw: Raw) -> str:
    return f"/environments/{raw.call('GET', raw.path)['environment_id']}/work"


def key_of(raw: Raw) -> str:
    return str(raw.call("GET", queue_of(raw).replace("/work", "/key"))["key"])


def works(raw: Raw) -> list[Event]:
    """Newest first."""
    return cast("list[Event]", raw.call("GET", queue_of(raw))["data"])


def test_a_key_gives_access_only_to_its_own_environment_and_session(raw: Raw, daemon: DaemonProcess) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    first, mine, key = raw.path, queue_of(raw), key_of(raw)
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    queue, other = queue_of(raw), key_of(raw)
    assert (status(daemon, key, "GET", f"{mine}/poll"), status(daemon, key, "GET", f"{queue}/poll")) == (200, 401)
    wait_until(lambda: len(works(raw)) == 1, "no work")
    answer = ask(daemon, other, "GET", f"{queue}/poll")
    work = cast("Event", answer.json())
    token = token_of(work)
    own = f"{queue}/{work['id']}"
    for method, path in (("POST", f"{own}/ack"), ("POST", f"{own}/heartbeat"), ("GET", own), ("GET", raw.path)):
        assert status(daemon, token, method, path) == 200, path
    assert status(daemon, token, "GET", f"{raw.path}/events") == 200
    assert status(daemon, token, "GET", "/skills") == 200
    for path in (raw.path, f"{raw.path}/events", "/skills"):  # the environment's own key opens its sessions, too
        assert status(daemon, other, "GET", path) == 200, path
        assert path == "/skills" or status(daemon, key, "GET", path) == 401, path
    message = {"type": "user.message", "content": [{"type": "text", "text": "More"}]}
    assert ask(daemon, other, "POST", f"{raw.path}/events", {"events": [message]}).status_code == 200
    assert ask(daemon, key, "POST", f"{raw.path}/events", {"events": [message]}).status_code == 401
    for method, path in (
        ("GET", f"{queue}/poll"),
        ("GET", first),
        ("DELETE", raw.path),
        ("POST", raw.path),
        ("POST", f"{raw.path}/archive"),
        ("GET", "/sessions"),
        ("GET", "/agents"),
        ("GET", "/vaults"),
        ("GET", queue.replace("/work", "/key")),
    ):
        assert status(daemon, token, method, path) == 401, path
        assert path.endswith("/poll") or status(daemon, other, method, path) == 401, path
    for forged in (token[:-4] + "AAAA", "sk-everyagent-", "sk-everyagent-e30.", f"{key}.x", "sk-everyagent-é"):
        assert status(daemon, forged, "GET", f"{mine}/poll") == 401, forged
    raw.send({"type": "user.interrupt"})


def test_a_key_serves_the_threads_of_a_roster_in_the_session_of_their_coordinator(
    raw: Raw, daemon: DaemonProcess
) -> None:
    place = raw.call("POST", "/environments", {"name": "of a roster", "config": SELF_HOSTED})
    rosters.coordinate(raw, rosters.member(raw, "Helper", TOOLSET), environment_id=place["id"])
    rosters.call(raw, {"agent": "Helper", "message": '[custom name=bash input={"command":"uname"}] Done.'})
    (use,) = required(raw.wait_idle("requires_action"))
    (thread,) = rosters.sessions_of_threads(raw)
    key = key_of(raw)
    assert [each["data"] for each in works(raw)] == [{"type": "session", "id": raw.session_id}]
    own = f"/sessions/{thread['sessionId']}"
    assert (status(daemon, key, "GET", own), status(daemon, key, "GET", f"{own}/events")) == (401, 401)
    result = {"type": "user.tool_result", "tool_use_id": use, "content": [{"type": "text", "text": "Plan 9"}]}
    assert ask(daemon, key, "POST", f"{raw.path}/events", {"events": [result]}).status_code == 200
    raw.wait_idle("end_turn")


def token_of(work: Event) -> str:
    """The token of the worker that polled this work."""
    secret = base64.urlsafe_b64decode(str(work["secret"]) + "==")
    return cast("dict[str, str]", json.loads(secret))["sessions_token"]


def ask(daemon: DaemonProcess, token: str, method: str, path: str, body: object = None) -> httpx2.Response:
    headers = [(b"authorization", f"Bearer {token}".encode())]
    url = f"{daemon.url}/anthropic/v1{path}"
    return httpx2.request(method, url, headers=headers, json=body, timeout=LIMIT_SECONDS, verify=NO_TLS)


def status(daemon: DaemonProcess, token: str, method: str, path: str) -> int:
    return ask(daemon, token, method, path).status_code


def test_work_that_fails_again_and_again_waits_longer_each_time(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    raw.wait_idle("requires_action")
    queue = queue_of(raw)

    def failed() -> bool:
        """A worker claims the work and gives up; False if there is none to claim."""
        work = raw.call("GET", f"{queue}/poll")
        if work:
            raw.call("POST", f"{queue}/{work['id']}/ack")
            raw.call("POST", f"{queue}/{work['id']}/stop", {"force": True})
        return bool(work)

    while failed():
        assert len(works(raw)) < 10
    assert works(raw)[0]["state"] == "queued"
    assert raw.call("GET", f"{queue}/stats")["pending"] == 1
    wait_until(failed, "the work does not come back")
    raw.send({"type": "user.interrupt"})


def test_the_wait_grows_and_has_a_bound() -> None:
    assert [backoff(failures, 0.0) for failures in range(1, 6)] == [0, 1, 2, 4, 8]
    assert backoff(8, 1.0) == backoff(8, 0.0) / 2
    assert backoff(10_000, 0.0) == MAX_BACKOFF


def test_an_expired_lease_goes_to_another_worker(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    queue = queue_of(raw)
    wait_until(lambda: len(works(raw)) == 1, "no work")
    work = raw.call("GET", f"{queue}/poll")
    raw.call("POST", f"{queue}/{work['id']}/ack")
    beat = raw.call("POST", f"{queue}/{work['id']}/heartbeat?desired_ttl_seconds=1")
    again: list[object] = []
    wait_until(lambda: bool(again.append(raw.call("GET", f"{queue}/poll")) or again[-1]), "nobody else gets it")
    assert cast("Event", again[-1])["id"] == work["id"]
    late = f"{queue}/{work['id']}/heartbeat?expected_last_heartbeat={beat['last_heartbeat']}"
    with pytest.raises(AssertionError, match=r"^412"):
        raw.call("POST", late)
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")
    raw.call("POST", f"{queue}/{work['id']}/stop", {"force": True})
    assert len(works(raw)) == 1, "the session is done, so nothing is queued anew"
    raw.say("[hello]")
    wait_until(lambda: len(works(raw)) == 2, "the next turn calls for a worker")
    raw.wait_idle("end_turn")
    raw.call("POST", f"{raw.path}/archive")
    assert raw.call("GET", f"{queue}/poll") is None, "nobody is sent to a session that is over"
    assert [each["state"] for each in works(raw)] == ["stopped", "stopped"]


def test_work_survives_a_restart(tmp_path: Path) -> None:
    own = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    own.start()
    raw = Raw(own)
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    queue, key = queue_of(raw), key_of(raw)
    work = raw.call("GET", f"{queue}/poll")
    raw.call("POST", f"{queue}/{work['id']}/ack")
    beat = raw.call("POST", f"{queue}/{work['id']}/heartbeat?desired_ttl_seconds=600")
    own.kill()
    own.start()
    assert key_of(raw) == key
    same = f"expected_last_heartbeat={beat['last_heartbeat']}"
    assert raw.call("POST", f"{queue}/{work['id']}/heartbeat?{same}")["lease_extended"], "the lease is still its own"
    raw.call("POST", f"{queue}/{work['id']}/stop", {"force": True})
    anew = raw.call("GET", f"{queue}/poll")
    assert cast("Event", anew["data"])["id"] == raw.session_id, "what it waits for is still to be done"
    raw.send({"type": "user.tool_result", "tool_use_id": use, "content": [{"type": "text", "text": "Plan 9"}]})
    raw.wait_idle("end_turn")
    raw.close()
    own.stop()
    assert rebuilt(own)


@contextmanager
def worker(raw: Raw, daemon: DaemonProcess, folder: Path, sdk: Sdk = NEWEST) -> Generator[None]:
    """The real worker in its own process and folder."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(NEWEST.installed()),
        "SDK": str(NODE.installed()),
        "BASE_URL": f"{daemon.url}/anthropic",
        "ENVIRONMENT_ID": queue_of(raw).split("/")[2],
        "ENVIRONMENT_KEY": key_of(raw),
        "WORKDIR": str(folder),
    }
    python = [f"{sys.base_prefix}/bin/python3", "-s", str(FLOWS / "worker.py")]
    argv = ["node", str(FLOWS / "worker.mjs")] if sdk == NODE else python
    with (folder / "worker.log").open("wb") as said:
        process = subprocess.Popen(argv, env=environment, stdout=said, stderr=said)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("sdk", [NEWEST, NODE], ids=lambda sdk: sdk.name)
def test_the_real_worker_runs_the_tools_of_a_session(raw: Raw, daemon: DaemonProcess, tmp_path: Path, sdk: Sdk) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    write = {"file_path": "made.txt", "content": "by the worker"}
    commands = '[custom name=bash input={"command":"pwd"}]'
    with worker(raw, daemon, tmp_path, sdk):
        raw.say(f"[custom name=write input={json.dumps(write)}] {commands}")
        raw.wait_idle("end_turn")
        assert (tmp_path / "made.txt").read_text() == "by the worker"
        results = [event for event in raw.events() if event["type"] == "user.tool_result"]
        assert str(tmp_path) in json.dumps(results)
        raw.say(commands)
        raw.wait_idle("end_turn")
        wait_until(lambda: works(raw)[0]["state"] == "stopped", "the worker leaves when nothing more comes")
        raw.say(commands)
        wait_until(lambda: len(works(raw)) == 2, "and is called again")
        raw.wait_idle("end_turn")
    passed("anthropic-flows")


@pytest.mark.parametrize("sdk", [NEWEST, NODE], ids=lambda sdk: sdk.name)
def test_an_always_ask_tool_waits_for_the_user_also_with_a_worker(
    raw: Raw, daemon: DaemonProcess, tmp_path: Path, sdk: Sdk
) -> None:
    raw.create(ASKING, environment=SELF_HOSTED)
    touch = '[custom name=bash input={"command":"touch made.txt"}]'
    with worker(raw, daemon, tmp_path, sdk):
        for result in ("deny", "allow"):
            raw.say(touch)
            (use,) = required(raw.wait_idle("requires_action"))
            wait_until(lambda: works(raw)[0]["state"] == "active", "no worker came")
            assert not (tmp_path / "made.txt").exists()
            raw.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": result})
            raw.wait_idle("end_turn")
            assert (tmp_path / "made.txt").exists() == (result == "allow")


def test_a_worker_that_is_stopped_or_loses_its_lease_leaves_nothing_stuck(
    raw: Raw, daemon: DaemonProcess, tmp_path: Path
) -> None:
    raw.create(ASKING, environment=SELF_HOSTED)
    queue = queue_of(raw)
    with worker(raw, daemon, tmp_path):
        raw.say('[custom name=bash input={"command":"pwd"}]')
        (use,) = required(raw.wait_idle("requires_action"))
        wait_until(lambda: works(raw)[0]["state"] == "active", "no worker came")
        (first,) = works(raw)
        raw.call("POST", f"{queue}/{first['id']}/stop", {})
        wait_until(lambda: len(works(raw)) == 2 and works(raw)[0]["state"] == "active", "no worker came back")
        second = works(raw)[0]
        assert works(raw)[1]["state"] == "stopped"
        taken = f"expected_last_heartbeat={second['latest_heartbeat_at']}&desired_ttl_seconds=1"
        raw.call("POST", f"{queue}/{second['id']}/heartbeat?{taken}")
        wait_until(lambda: "lease lost" in (tmp_path / "worker.log").read_text(), "the worker did not notice")
        wait_until(lambda: works(raw)[0]["state"] == "active", "nobody took it up again")
        raw.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": "allow"})
        raw.wait_idle("end_turn")


def test_the_real_worker_serves_a_real_agent(tmp_path: Path) -> None:
    for folder in ("home", "daemon", "agent", "worker"):
        (tmp_path / folder).mkdir()
    with daemon_of(tmp_path / "daemon", **SURROUNDINGS["claude"](tmp_path / "home")) as daemon:
        raw = Raw(daemon)
        with scene_of("claude", daemon, tmp_path / "agent") as scene:
            raw.create(
                TOOLSET,
                agent="claude",
                model=scene.model,
                environment=SELF_HOSTED,
                vault_ids=[raw.vault(scene.environment)],
            )
            with worker(raw, daemon, tmp_path / "worker"):
                raw.say("Look where you are")
                raw.wait_idle("end_turn")
        results = [event for event in raw.events() if event["type"] == "user.tool_result"]
        assert results
        assert all("Linux" in json.dumps(result["content"]) for result in results)
        raw.close()
        daemon.stop()
        assert rebuilt(daemon)
