"""Domains from which an agent may fetch web pages. A part of the tool policies."""

import re
from posixpath import normpath
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

#: Programs disagree on where the host of any other address ends.
_PLAIN = re.compile(r"https?://[!-\[\]-~]+", re.IGNORECASE)
_DOT = re.compile("%2e", re.IGNORECASE)


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
        path = normpath(f"/{_DOT.sub('.', parts.path).lstrip('/')}").lower()
        if not host or any(_covers(domain, host, path) for domain in self.blocked_domains):
            return False
        return self.allowed_domains is None or any(_covers(each, host, path) for each in self.allowed_domains)


def _covers(domain: str, host: str, path: str) -> bool:
    name, slash, below = domain.lower().removeprefix("https://").removeprefix("http://").partition("/")
    inside = host == name or host.endswith(f".{name}")
    return inside and (not slash or f"{path}/".startswith(f"/{below.rstrip('/*')}".rstrip("/") + "/"))
