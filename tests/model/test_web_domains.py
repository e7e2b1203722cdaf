"""The domains of web pages that an agent may fetch."""

import pytest

from everyagent.model.web_domains import WebDomains

ONLY = WebDomains(allowed_domains=["example.org", "Other.example/docs/*"], blocked_domains=["old.example.org"])


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://EXAMPLE.org:8080/a?b#c",
        "https://www.example.org/a",
        "https://example.org./",
        "https://user@example.org/",
        "https://other.example/docs",
        "https://other.example/docs/a",
    ],
)
def test_an_allowed_domain_covers_its_subdomains_and_paths(url: str) -> None:
    assert ONLY.allow(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "https://",
        "https://notexample.org/",
        "https://example.org.evil.test/",
        "https://example.org@evil.test/",
        "https://evil.test\\@example.org/",
        "https://evil.test/\texample.org",
        "https://evil.test#@example.org",
        "https://old.example.org/",
        "https://a.old.example.org/",
        "https://other.example/",
        "https://other.example/docsearch",
        "https://other.example/docs/../private",
        "https://other.example/docs/%2E%2e/private",
        "https://[example.org/",
        "https://ex\u00e4mple.org/",
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    assert not ONLY.allow(url)


def test_without_allowed_domains_all_but_the_blocked_are_allowed() -> None:
    blocked = WebDomains(blocked_domains=["evil.test"])
    assert blocked.allow("https://example.org/")
    assert not blocked.allow("https://www.evil.test/")
    assert not WebDomains(blocked_domains=["example.org/private"]).allow("https://example.org//a/../private/b")
