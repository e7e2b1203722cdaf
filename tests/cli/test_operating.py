"""Signals for operators: notifications of systemd, the access log, log levels, and metrics with their dashboard."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent import logs, systemd
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess

DASHBOARD = json.loads((Path(__file__).parents[2] / "deploy" / "grafana" / "everyagent.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
QUERY_SECRET = "a-secret-in-a-query"


class Manager:
    """The socket of a service manager."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(LIMIT_SECONDS)
        self.socket.bind(str(path))
        self.states: list[str] = []

    def until(self, state: str) -> None:
        while state not in self.states:
            self.states.append(self.socket.recv(1000).decode())


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Generator[Manager]:
    manager = Manager(tmp_path_factory.mktemp("systemd") / "notify")
    yield manager
    manager.socket.close()


@pytest.fixture(scope="module")
def daemon(manager: Manager, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    environment = {"NOTIFY_SOCKET": manager.socket.getsockname(), "WATCHDOG_USEC": "60000000"}
    folder = tmp_path_factory.mktemp("operated")
    process = DaemonProcess(folder / "data", "--access-log", "--isolation", "none", environment=environment)
    process.start()
    yield process
    process.stop()


def call(daemon: DaemonProcess, method: str, path: str, body: object = None) -> httpx2.Response:
    url, headers = daemon.url + path, daemon.headers
    return httpx2.request(method, url, json=body, headers=headers, verify=NO_TLS, timeout=LIMIT_SECONDS)


def test_each_response_has_a_line_without_secrets(daemon: DaemonProcess) -> None:
    answer = call(daemon, "GET", f"/v1/sessions?text={QUERY_SECRET}")
    call(daemon, "GET", f"/answer/{QUERY_SECRET}")
    call(daemon, "GET", "/v1/nothing/here")

    def lines() -> list[dict[str, object]]:
        found = [line for line in daemon.output().splitlines(keepends=True) if '"everyagent.access"' in line]
        return [json.loads(line) for line in found if line.endswith("\n")]

    wait_until(lambda: any(line["path"] == "/v1/nothing/here" for line in lines()), "no line")
    (line,) = [line for line in lines() if line["request_id"] == answer.headers["x-request-id"]]
    assert (line["method"], line["path"], line["route"]) == ("GET", "/v1/sessions", "/v1/sessions")
    assert (line["status"], line["client"], line["level"]) == (answer.status_code, "127.0.0.1", "info")
    (answered,) = [line for line in lines() if line["route"] == "/answer"]
    assert (answered["path"], answered["status"]) == ("/answer", 404)
    assert QUERY_SECRET not in daemon.output()
    assert TOKEN not in daemon.output()


def test_every_metric_of_the_dashboard_is_exported(daemon: DaemonProcess, tmp_path: Path) -> None:
    session = call(daemon, "POST", "/v1/sessions", {"agent": "mock", "directory": str(tmp_path)}).json()["sessionId"]
    for message in ("[hello]", "[unparsed]", "[exit]"):
        call(daemon, "POST", f"/v1/sessions/{session}/messages/stream", {"message": message})
    call(daemon, "POST", f"/v1/sessions/{session}/messages", {"message": "[ask]"})
    asks = f"/v1/sessions/{session}/asks?pending=true"
    wait_until(lambda: call(daemon, "GET", asks).json()["asks"], "no ask")
    text = call(daemon, "GET", "/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["everyagent_open_asks"]) == 1
    assert float(values["everyagent_database_bytes"]) > 4096
    assert float(values["everyagent_agents_memory_bytes"]) > 1 << 20
    assert float(values["everyagent_agents_processes"]) >= 1
    named = {name for each in EXPRESSIONS for name in re.findall(r"everyagent_\w+", each)}
    assert len(named) > 12
    assert named - {re.split(r"[{ ]", name)[0] for name in values} == set()


def test_the_dashboard_is_whole() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    for expression in EXPRESSIONS:
        assert expression.count("(") == expression.count(")")
        assert '{job="$job"}' in expression


def test_old_sessions_are_shown_and_deleted(daemon: DaemonProcess, tmp_path: Path) -> None:
    ended, idle = [
        call(daemon, "POST", "/v1/sessions", {"agent": "mock", "directory": str(tmp_path)}).json()["sessionId"]
        for _ in range(2)
    ]
    call(daemon, "POST", f"/v1/sessions/{ended}/terminate")

    def pruned(*words: str) -> list[str]:
        argv = [sys.executable, "-m", "everyagent", "sessions", "prune", "--days", "0.000000001", "--json", *words]
        found = {**os.environ, "EVERYAGENT_URL": daemon.url, "EVERYAGENT_TOKEN": TOKEN}
        done = subprocess.run(argv, env=found, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [info["sessionId"] for info in json.loads(done.stdout)["sessions"]]

    assert pruned("--dry-run") == [ended]
    assert {ended, idle} <= set(pruned("--dry-run", "--status", "idle"))
    assert call(daemon, "GET", f"/v1/sessions/{ended}").status_code == 200
    assert pruned("--yes") == [ended]
    assert call(daemon, "GET", f"/v1/sessions/{ended}").status_code == 404
    assert call(daemon, "GET", f"/v1/sessions/{idle}").status_code == 200


def test_systemd_learns_of_the_start_the_life_and_the_stop(daemon: DaemonProcess, manager: Manager) -> None:
    manager.until("WATCHDOG=1")
    assert manager.states == ["READY=1", "WATCHDOG=1"]
    assert daemon.stop() == 0
    manager.until("STOPPING=1")


def test_the_daemon_deletes_old_sessions_by_itself(daemon: DaemonProcess) -> None:
    daemon.stop()
    again = DaemonProcess(daemon.data_dir, "--retain-days", "0.000000001", "--retain-status", "idle")
    again.start()

    def left() -> list[int]:
        return [info["pendingAsks"] for info in call(again, "GET", "/v1/sessions").json()["sessions"]]

    try:
        wait_until(lambda: left() == [1], "other sessions are left than the one with an open ask")
    finally:
        again.stop()


def test_a_socket_that_is_gone_is_a_warning_and_levels_leave_it_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    logs.set_up("json")
    systemd.notify("READY=1")
    assert "systemd could not be notified" in capsys.readouterr().err
    logs.set_up("json", "error")
    try:
        systemd.notify("READY=1")
        assert capsys.readouterr().err == ""
    finally:
        logs.set_up("auto")
