"""The daemon behind a real nginx with TLS, below a path: API, streams and the page, with the example of `deploy/`."""

import re
import ssl
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import expect

from everyagent.runtime.ports import free_port
from everyagent.testing.daemon import DaemonProcess
from tests import nginx
from tests.certificates import certificate
from tests.inspector.page_driver import Daemon, NewContext, enter
from tests.waiting import LIMIT_SECONDS

EXAMPLE = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text()


class ProxiedDaemon(Daemon):
    """`proxied` is the address in the browser, `stripped` that of a proxy that removes the prefix."""

    proxied = stripped = ""

    @property
    def url(self) -> str:
        return self.proxied

    def client(self, url: str) -> httpx2.Client:
        trusting = ssl.create_default_context(cafile=str(self.folder / "server.pem"))
        return httpx2.Client(base_url=url, headers=self.process.headers, verify=trusting, timeout=LIMIT_SECONDS)

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        with self.client(self.url) as client:
            answer = client.request(method, f"/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer


def server(folder: Path, port: int, daemon: str) -> str:
    """The server block of the example, with the names of this test."""
    text = EXAMPLE.replace("listen 443", f"listen 127.0.0.1:{port}").replace("location / {", "location /agents/ {")
    text = re.sub(r"/etc/ssl/\S+?(?=;)", str(folder / "server.pem"), text)
    return text.replace("http://127.0.0.1:2468", daemon)


@pytest.fixture(scope="module")
def proxied(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[ProxiedDaemon]:
    nginx.nginx()
    folder = tmp_path_factory.mktemp("proxied")
    certificate(folder, "127.0.0.1")
    port, other, own = free_port(), free_port(), free_port()
    url = f"https://127.0.0.1:{port}/agents"
    process = DaemonProcess(folder / "data", "--public-url", url, "--trusted-proxy", "127.0.0.1")
    process.start(port=own)
    daemon = ProxiedDaemon(process, folder)
    daemon.proxied, daemon.stripped = url, f"https://127.0.0.1:{other}/agents"
    servers = server(folder, port, process.url) + server(folder, other, f"{process.url}/")
    with nginx.running(folder, servers, port):
        yield daemon
    process.stop()


@pytest.mark.parametrize("way", ["proxied", "stripped"])
def test_the_api_and_its_streams_work_below_a_path(proxied: ProxiedDaemon, way: str) -> None:
    url: str = getattr(proxied, way)
    session = proxied.session(f"By {way}")
    with proxied.client(url) as client:
        assert client.get("/").headers["location"] == "/agents/ui/"
        assert client.get("/v1/health").status_code == 200
        assert client.get("/ui/").status_code == 200
        with client.stream("GET", f"/v1/sessions/{session}/events/sse") as stream:
            lines = stream.iter_lines()
            assert any("session.started" in line for line in lines)
            # The stream stays open: a proxy that buffers would keep what follows.
            assert client.post(f"/v1/sessions/{session}/messages", json={"message": "one"}).status_code == 204
            assert any("turn.ended" in line for line in lines)
            assert client.post(f"/v1/sessions/{session}/messages", json={"message": "two"}).status_code == 204
            assert any("turn.ended" in line for line in lines)


async def test_the_page_works_below_a_path(proxied: ProxiedDaemon, new_context: NewContext) -> None:
    session = proxied.session("Behind nginx")
    tab = await enter(await new_context(ignore_https_errors=True), proxied)
    await tab.open(session)
    await tab.say("words through the proxy")
    await expect(tab.page.locator(".message.assistant")).to_contain_text("words through the proxy")
    assert tab.page.url.startswith(f"{proxied.proxied}/ui/#/session/")
    assert tab.complaints() == []
