"""Hosts that may be reached: as clients write them, and whether a host is one of them. Pure."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(\*\.)?({_LABEL}\.)*{_LABEL}")
_LONGEST = 253


def host_in(written: str) -> str | None:
    """`https://Example.org:8443/x` is about `example.org`, and `*.example.org` about what is below it.

    None if it names no host.
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
    """`allowed` is written as `host_in` writes it."""
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
