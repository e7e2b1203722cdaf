"""HTTPS: requests, streams, refusals, and certificates that are renewed."""

import socket
import ssl
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from everyagent.config import ConfigError, load
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.tls_certificate import TlsCertificate
from tests.certificates import certificate
from tests.waiting import LIMIT_SECONDS, wait_until

NAME = "127.0.0.1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Generator[DaemonProcess]:
    certificate(folder, NAME, serial=1)
    process = DaemonProcess(folder / "data", "--tls-cert", str(folder / "server.pem"), "--isolation", "none")
    process.start()
    yield process
    process.stop()


def public_url(daemon: DaemonProcess) -> str:
    (line,) = [line for line in daemon.output().splitlines() if line.startswith("  public ")]
    return line.split()[-1]


def serial(daemon: DaemonProcess) -> int:
    """The serial number of the certificate that a new connection gets."""
    pem = ssl.get_server_certificate((NAME, int(public_url(daemon).rpartition(":")[2])))
    from cryptography import x509

    return x509.load_pem_x509_certificate(pem.encode()).serial_number


def test_requests_and_streams_are_served_with_the_certificate(daemon: DaemonProcess, folder: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(folder / "server.pem"))
    url = public_url(daemon)
    assert url.startswith("https://")
    with httpx2.Client(base_url=url, headers=daemon.headers, verify=trusting, timeout=LIMIT_SECONDS) as client:
        session = client.post("/v1/sessions", json={"agent": "mock", "directory": str(folder)}).json()["sessionId"]
        with client.stream("POST", f"/v1/sessions/{session}/messages/stream", json={"message": "over TLS"}) as turn:
            assert any("turn.ended" in line for line in turn.iter_lines())
        assert client.get("/", follow_redirects=False).headers["location"] == "/ui/"
        # Programs on this machine use a plain address.
        local = httpx2.get(f"{daemon.url}/v1/sessions/{session}", headers=daemon.headers, verify=NO_TLS)
        assert local.json() == client.get(f"/v1/sessions/{session}").json()
        large = client.get("/v1/health", headers={"x-large": "x" * 70_000})
        assert (large.status_code, large.json()["code"]) == (431, "headers_too_large")


def test_plain_http_on_the_port_of_tls_is_no_answer(daemon: DaemonProcess) -> None:
    with socket.create_connection((NAME, int(public_url(daemon).rpartition(":")[2]))) as plain:
        plain.settimeout(LIMIT_SECONDS)
        plain.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert b"200" not in plain.recv(1000)


def test_a_renewed_certificate_is_served_and_an_unusable_one_is_not(daemon: DaemonProcess, folder: Path) -> None:
    assert serial(daemon) == 1
    (folder / "server.pem").write_text("not a certificate")
    wait_until(lambda: "the renewed certificate cannot be used" in daemon.output(), "no warning")
    assert serial(daemon) == 1
    certificate(folder, NAME, serial=2)
    wait_until(lambda: serial(daemon) == 2, "the certificate was not read again")


@pytest.mark.parametrize("text", ["", "not a certificate"])
def test_a_certificate_that_cannot_be_used_is_an_error_at_the_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "server.pem"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"server.pem cannot be used: .* must be a PEM file"):
        TlsCertificate(file, None)


def test_a_key_without_a_certificate_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--tls-cert"):
        load({"tls-key": tmp_path / "x.key"}, {"EVERYAGENT_CONFIG": str(tmp_path / "none")})
