"""Bounds of the HTTP connections that a daemon holds, and the count of connections by peer."""

import resource
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address

from msgspec import Struct

from everyagent.errors import TooManyConnections

KIB = 1 << 10


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """A head is a request's first line and its headers. `read_ahead` are bytes of the requests that follow one.

    `head_seconds` is the time for a whole head, `body_seconds` the time between two pieces of a body.
    """

    connections: int = 20_000
    connections_per_peer: int = 2_000
    url_bytes: int = 56 * KIB
    head_bytes: int = 64 * KIB
    headers: int = 256
    read_ahead: int = 64 * KIB
    head_seconds: float = 10.0
    body_seconds: float = 30.0


class ConnectionCount:
    """Counts open connections and refuses those over the limits. Loopback and `trusted` are not limited as peers.

    Some file descriptors stay free for the log, agents and imports, however many clients connect.
    """

    def __init__(self, limits: ConnectionLimits, trusted: Callable[[str], bool] = lambda _: False) -> None:
        self._trusted = trusted
        self._most = min(limits.connections, descriptors_for_clients(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        self._most_per_peer = limits.connections_per_peer
        self._peers: Counter[str] = Counter()
        self._open = 0

    def enter(self, peer: str) -> None:
        """Raises `TooManyConnections`, and then does not count it."""
        if self._open >= self._most:
            raise TooManyConnections(f"The daemon has {self._most} connections, its limit.", limit=self._most)
        if self._peers[peer] >= self._most_per_peer and not _is_loopback(peer) and not self._trusted(peer):
            raise TooManyConnections(
                f"Your address has {self._most_per_peer} connections, the limit for one address.",
                limit=self._most_per_peer,
            )
        self._open += 1
        self._peers[peer] += 1

    def leave(self, peer: str) -> None:
        self._open -= 1
        self._peers[peer] -= 1
        if not self._peers[peer]:
            del self._peers[peer]


def descriptors_for_clients(limit: int) -> int:
    """The number of the process's file descriptors that connections may use."""
    if limit == resource.RLIM_INFINITY:
        return 1 << 30
    return max(1, limit - min(512, max(64, limit // 4)))


def _is_loopback(peer: str) -> bool:
    try:
        return ip_address(peer).is_loopback
    except ValueError:
        return True  # no address: a Unix socket
