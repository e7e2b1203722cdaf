"""Parsing and matching of host patterns."""

import pytest

from everyagent.model.hosts import admits, host_in


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("example.org", "example.org"),
        (" Example.ORG. ", "example.org"),
        ("https://api.example.org:8443/v1?x=1", "api.example.org"),
        ("example.org:443", "example.org"),
        ("*.example.org", "*.example.org"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("http://127.0.0.1:80", "127.0.0.1"),
        ("::1", "::1"),
        ("[2001:DB8::1]:443", "2001:db8::1"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_is_parsed_from_urls_names_and_patterns(written: str, host: str) -> None:
    assert host_in(written) == host


@pytest.mark.parametrize(
    "written",
    ["", " ", "*", "*.", "exa mple.org", "example..org", "-x.org", "a.*.org", "[::1", "https://", "x" * 254],
)
def test_text_without_a_host_is_none(written: str) -> None:
    assert host_in(written) is None


def test_a_host_matches_its_name_or_a_parent_pattern() -> None:
    allowed = ["example.org", "*.example.com", "127.0.0.1"]
    for host in ("example.org", "EXAMPLE.org.", "a.example.com", "a.b.example.com", "127.0.0.1"):
        assert admits(allowed, host), host
    for host in ("a.example.org", "example.com", "badexample.com", "127.0.0.2", "localhost", "", "*.example.com.evil"):
        assert not admits(allowed, host), host
    assert not admits([], "example.org")
