"""A daemon under clients that use up memory, connections and file descriptors, without a token."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.waiting import wait_until

MIB = 1 << 20


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    running = DaemonProcess(tmp_path_factory.mktemp("exhaustion") / "data", "--default-agent", "mock")
    running.start()
    try:
        yield running
    finally:
        running.kill()


def resident(daemon: DaemonProcess) -> int:
    status = Path(f"/proc/{daemon.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def send_until_it_blocks(client: socket.socket, data: bytes, most: int) -> int:
    """Send again and again; how many bytes the server took before it stopped reading or closed."""
    client.settimeout(1)
    sent = 0
    try:
        while sent < most:
            sent += client.send(data)
    except OSError:
        return sent
    return sent


@pytest.mark.parametrize(
    "data",
    [b"GET /v1/health HTTP/1.1\r\n\r\n" * 2000, b"GET /" + b"a" * 65_000, b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 9000],
)
def test_memory_does_not_grow_with_what_a_stranger_sends(daemon: DaemonProcess, data: bytes) -> None:
    before = resident(daemon)
    with ExitStack() as clients:
        for _ in range(5):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", daemon.port)))
            send_until_it_blocks(client, data, 50 * MIB)
        assert resident(daemon) - before < 24 * MIB
        assert httpx2.get(f"{daemon.url}/v1/health", verify=NO_TLS).status_code == 200


def test_a_daemon_without_free_file_descriptors_serves_and_recovers(tmp_path: Path) -> None:
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, usual[1]))
    try:
        daemon.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    try:
        with httpx2.Client(base_url=daemon.url, headers=daemon.headers, verify=NO_TLS, timeout=60) as client:
            with ExitStack() as strangers:
                first = client.get("/v1/health")
                for _ in range(400):
                    stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", daemon.port)))
                    stranger.sendall(b"GET /v1/health HTTP/1.1\r\n")
                # Each of these loads modules or opens files for the first time.
                seen = {
                    path: client.get(path).status_code
                    for path in ("/v1/agents", "/openapi.json", "/anthropic/v1/agents", "/v1/search?q=a")
                }
                created = client.post("/v1/sessions/mine", json={"agent": "mock"})
            assert first.status_code == 200
            assert set(seen.values()) == {200}, seen
            assert created.status_code == 200
        wait_until(lambda: httpx2.get(f"{daemon.url}/v1/health", verify=NO_TLS).status_code == 200)
        assert "Traceback" not in daemon.output()
    finally:
        daemon.kill()
