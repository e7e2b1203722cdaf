"""Domains from which an agent may fetch web pages. A part of the tool policies."""

import re
from posixpath import normpath
from typing import Annotated
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct

#: Programs disagree on where the host of any other address ends.
_PLAIN = re.compile(r"https?://[!-\[\]-~]+", re.IGNORECASE)
#: Rounds of percent-encoding. A path with more is refused.
_MOST_ENCODED = 3


class WebDomains(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """`example.org` stands for its subdomains as well, `example.org/docs` for the addresses below that path.

    Without `allowedDomains`, all that are not blocked are allowed.
    """

    allowed_domains: Annotated[list[str], Meta(max_length=1000)] | None = None
    blocked_domains: Annotated[list[str], Meta(max_length=1000)] = []

    def allow(self, url: str) -> bool:
        if not _PLAIN.fullmatch(url):
            return False
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").rstrip(".")
        except ValueError:
            return False
        paths = _readings(parts.path)
        if not host or "%" in host or not paths:
            return False
        if any(_covers(domain, host, path) for domain in self.blocked_domains for path in paths):
            return False
        return self.allowed_domains is None or any(
            all(_covers(domain, host, path) for path in paths) for domain in self.allowed_domains
        )


def _readings(path: str) -> set[str]:
    """Every path for which a server may take this one: servers decode it once or again, and some take `\\` for `/`.

    Empty if it is encoded too often.
    """
    found: set[str] = set()
    for _ in range(_MOST_ENCODED):
        encoded, path = path, unquote(path)
        if path == encoded and found:
            return found
        found |= {_normal(path), _normal(path.replace("\\", "/"))}
    return set()


def _normal(path: str) -> str:
    return normpath(f"/{path.lstrip('/')}").lower()


def _covers(domain: str, host: str, path: str) -> bool:
    name, slash, below = domain.lower().removeprefix("https://").removeprefix("http://").partition("/")
    name = _in_ascii(name.rstrip("."))
    inside = host == name or host.endswith(f".{name}")
    return inside and (not slash or f"{path}/".startswith(f"/{unquote(below).rstrip('/*')}".rstrip("/") + "/"))


def _in_ascii(name: str) -> str:
    """The name as addresses have it: `b\u00fccher.example` is `xn--bcher-kva.example`."""
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name
