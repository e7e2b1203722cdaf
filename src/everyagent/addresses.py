"""The addresses of a daemon: where it listens, what people call it, and the names that requests may use."""

import socket
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from everyagent.config import Settings, is_loopback


def for_nodes(settings: Settings, listener: socket.socket) -> str:
    """The URL at which other nodes of a cluster reach this one."""
    return settings.node_url or _listening(settings, settings.host, listener)


def for_people(settings: Settings, listener: socket.socket) -> str | UnsetType:
    """The URL at which people reach the daemon, if programs on this machine use another one."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    if settings.tls_cert is None:
        return UNSET
    everywhere = settings.host in ("0.0.0.0", "::")
    return _listening(settings, socket.gethostname() if everywhere else settings.host, listener)


def _listening(settings: Settings, host: str, listener: socket.socket) -> str:
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def accepted_hosts(settings: Settings, node_url: str | None) -> set[str]:
    """The host names that requests may use, and the `Host` values of the addresses that other programs know."""
    host = settings.host
    names = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host}
    if not is_loopback(host):
        hostname = socket.gethostname()
        names |= {hostname, socket.getfqdn()}
        names |= {str(entry[4][0]) for entry in socket.getaddrinfo(hostname, None)}
    if settings.allowed_host:
        names |= set(settings.allowed_host.split(","))
    urls = (node_url, settings.public_url, settings.oidc.url if settings.oidc else None)
    return names | {urlsplit(url).netloc for url in urls if url}
