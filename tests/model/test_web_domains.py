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


BLOCKED = WebDomains(
    blocked_domains=["example.org/priv", "b\u00fccher.example", "dots.example.", "a.example/caf%C3%A9"]
)
BELOW = WebDomains(allowed_domains=["example.org/docs"])


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/priv",
        "https://example.org/%70riv/a",
        "https://example.org/%70%72%69%76/a",
        "https://example.org/%2570riv/a",
        "https://example.org/%252570riv/a",
        "https://example.org/%25252570riv/a",
        "https://example.org/%2fpriv/a",
        "https://example.org/x%2f..%2fpriv/a",
        "https://example.org/priv%2fa",
        "https://example.org/priv%5ca",
        "https://example.org/x%5c..%5cpriv",
        "https://example.org/x/%2e%2e/priv",
        "https://example.org/x/%252e%252e/priv",
        "https://example.org/PRIV/a",
        "https://EXAMPLE.ORG/priv/a",
        "https://example.org./priv/a",
        "https://www.example.org/priv/a",
        "https://example.org:8443/priv/a",
        "https://user:word@example.org/priv/a",
        "https://other.test@example.org/priv/a",
        "https://ex%61mple.org/priv/a",
        "https://example%2eorg/priv/a",
        "https://xn--bcher-kva.example/",
        "https://XN--BCHER-KVA.example/",
        "https://b\u00fccher.example/",
        "https://dots.example/",
        "https://a.example/caf%C3%A9/b",
    ],
)
def test_no_spelling_of_a_blocked_address_is_allowed(url: str) -> None:
    assert not BLOCKED.allow(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://example.org/private",
        "https://example.org/%61",
        "https://example.org/a%2fb",
        "https://example.org/100%25",
        "https://example.org/?next=/priv",
        "https://example.org/a#/priv",
        "https://example.org@other.test/priv",
        "https://bucher.example/",
        "https://a.example/cafe",
    ],
)
def test_other_addresses_are_allowed(url: str) -> None:
    assert BLOCKED.allow(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/docs%2f..%2fpriv",
        "https://example.org/docs%5c..%5cpriv",
        "https://example.org/docs/%252e%252e/priv",
    ],
)
def test_an_address_is_allowed_only_if_every_reading_is(url: str) -> None:
    assert not BELOW.allow(url)


def test_an_allowed_path_may_be_encoded() -> None:
    assert BELOW.allow("https://example.org/%64ocs/a%20b")
    assert WebDomains(allowed_domains=["example.org/caf%C3%A9"]).allow("https://example.org/caf%c3%a9/a")
