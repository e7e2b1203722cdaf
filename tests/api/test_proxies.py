"""Forwarded headers of trusted and other peers, and paths with a prefix."""

import pytest

from everyagent.api.asgi import Scope
from everyagent.api.proxies import TrustedProxies, without_prefix

PROXIES = TrustedProxies("10.0.0.0/8, 127.0.0.1,::1")


def request(peer: str, **headers: str) -> Scope:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"client": (peer, 1), "scheme": "http", "headers": [(b"host", b"127.0.0.1:2468"), *named]}


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", "203.0.113.7", "203.0.113.7"),
        ("::ffff:10.0.0.9", "203.0.113.7", "203.0.113.7"),
        ("127.0.0.1", "6.6.6.6, 203.0.113.7, 10.1.1.1", "203.0.113.7"),  # what the client wrote itself is first
        ("127.0.0.1", "10.2.2.2, 10.1.1.1", "10.2.2.2"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("203.0.113.9", "203.0.113.7", "203.0.113.9"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_trusted_proxy(peer: str, forwarded: str, client: str):
    scope = request(peer, x_forwarded_for=forwarded)
    PROXIES.apply(scope)
    assert scope["client"][0] == client


def test_several_headers_count_as_one_list():
    scope = request("127.0.0.1", x_forwarded_for="6.6.6.6")
    scope["headers"].append((b"x-forwarded-for", b"203.0.113.7"))
    PROXIES.apply(scope)
    assert scope["client"][0] == "203.0.113.7"


@pytest.mark.parametrize(("peer", "counts"), [("127.0.0.1", True), ("203.0.113.9", False)])
def test_scheme_and_host_count_from_trusted_proxies_only(peer: str, counts: bool):
    scope = request(peer, x_forwarded_proto="https", x_forwarded_host="agents.example.org")
    PROXIES.apply(scope)
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    assert hosts == [b"agents.example.org" if counts else b"127.0.0.1:2468"]
    assert scope["scheme"] == ("https" if counts else "http")


def test_another_scheme_is_ignored():
    scope = request("127.0.0.1", x_forwarded_proto="gopher")
    PROXIES.apply(scope)
    assert scope["scheme"] == "http"


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/agents/v1/health", "/v1/health"),
        ("/agents", "/"),
        ("/agents/", "/"),
        ("/v1/health", "/v1/health"),
        ("/agentsmith", "/agentsmith"),
    ],
)
def test_a_prefix_is_removed_once_if_it_is_there(path: str, left: str):
    scope: Scope = {"path": path, "raw_path": path.encode(), "root_path": ""}
    without_prefix(scope, "/agents")
    assert (scope["path"], scope["raw_path"], scope["root_path"]) == (left, left.encode(), "/agents")
