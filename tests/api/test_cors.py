"""Requests of web pages of other origins, and to other names: `serve --allowed-origin` and `--allowed-host`."""

from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess

ALLOWED = "https://app.example.org"
SECOND = "http://localhost:5173"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx2.Client]:
    flags = ("--allowed-origin", f"{ALLOWED},{SECOND}", "--allowed-host", "agents.example.org,[fd00::1]:8443")
    daemon = DaemonProcess(tmp_path_factory.mktemp("cors") / "data", *flags)
    daemon.start()
    with httpx2.Client(base_url=daemon.url, verify=NO_TLS) as client:
        yield client
    assert daemon.stop() == 0


def preflight(client: httpx2.Client, origin: str) -> httpx2.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    return client.options("/v1/sessions/s/messages", headers=headers)


@pytest.mark.parametrize("origin", [ALLOWED, SECOND])
def test_an_allowed_page_asks_without_a_token_and_sends_with_it(client: httpx2.Client, origin: str) -> None:
    asked = preflight(client, origin)
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, origin)
    assert asked.headers["access-control-allow-headers"] == "authorization, content-type"
    assert "PATCH" in asked.headers["access-control-allow-methods"]
    sent = client.get("/v1/sessions", headers={"origin": origin, "authorization": f"Bearer {TOKEN}"})
    assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (200, origin)
    assert "x-item-id" in sent.headers["access-control-expose-headers"]
    refused = client.get("/v1/sessions", headers={"origin": origin})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, origin)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", f"{ALLOWED}.evil.example", "http://app.example.org"]
)
def test_any_other_page_is_refused_with_the_flag_that_would_allow_it(client: httpx2.Client, origin: str) -> None:
    for answer in (
        preflight(client, origin),
        client.get("/v1/sessions", headers={"origin": origin, "authorization": f"Bearer {TOKEN}"}),
    ):
        assert answer.status_code == 403
        assert "--allowed-origin" in answer.json()["detail"]
        assert "access-control-allow-origin" not in answer.headers


def test_an_origin_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="allowed-origin"):
        DaemonProcess(tmp_path / "data", "--allowed-origin", "*").start()


@pytest.mark.parametrize(
    "host", ["agents.example.org", "Agents.Example.org:443", "[fd00::1]:8443", "localhost:8080", "127.0.0.1:9999"]
)
def test_a_proxy_or_tunnel_may_use_an_allowed_name_with_its_own_port(client: httpx2.Client, host: str) -> None:
    headers = {"host": host, "origin": f"https://{host.lower()}", "authorization": f"Bearer {TOKEN}"}
    assert client.get("/v1/sessions", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "x.agents.example.org", "[fd00::1]:1", "[fd00::1]"])
def test_any_other_name_is_refused_with_the_flag_that_would_allow_it(client: httpx2.Client, host: str) -> None:
    answer = client.get("/v1/sessions", headers={"host": host, "authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 403
    assert "--allowed-host" in answer.json()["detail"]
