"""Parses and matches the host patterns of a session's `allowedHosts`."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(\*\.)?({_LABEL}\.)*{_LABEL}")
_LONGEST = 253


def host_in(written: str) -> str | None:
    """The normalized host in a URL, host name or pattern: `https://Example.org:8443/x` gives `example.org`.

    `*.example.org` stands for all subdomains. None if the text contains no host.
    """
    text = written.strip()
    try:
        host = urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return None
    if _is_address(text):
        return str(ip_address(text))
    if _is_address(host):
        return str(ip_address(host))
    try:
        name = host.rstrip(".").encode("idna").decode() if not host.isascii() else host.rstrip(".")
    except UnicodeError:
        return None
    return name if len(name) <= _LONGEST and _NAME.fullmatch(name) else None


def admits(allowed: Iterable[str], host: str) -> bool:
    """Whether the host matches one of the patterns, which are normalized by `host_in`."""
    found = host_in(host)
    return found is not None and any(
        found == each or (each.startswith("*.") and found.endswith(each[1:])) for each in allowed
    )


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
