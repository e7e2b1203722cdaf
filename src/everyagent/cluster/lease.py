"""The policy of leases: when a node renews its own, and when it may remove a node whose lease has expired. No I/O."""

from collections.abc import Iterable
from typing import Final

LEASE_SECONDS: Final = 10.0
BEAT_SECONDS: Final = 3.0
#: Between two heartbeats so far apart, the lease of a living node may have expired: its last one was up to
#: `BEAT_SECONDS` before the first of them, and took up to a second.
_BREAK_SECONDS: Final = LEASE_SECONDS - BEAT_SECONDS - 1.0
#: The shortest pause between two heartbeats.
_SHORTEST: Final = 0.1


class LeasePolicy:
    """All times are those of a clock that never goes back, on this machine.

    After the database was away, all leases may have expired at once. A node removes others only when it has reached
    the database without a break for the time of a lease: by then the living ones have renewed theirs.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = 0.0

    def holds(self, now: float) -> bool:
        """Whether this node's own lease cannot have expired."""
        return self._since is not None and now - self._last < LEASE_SECONDS

    def may_remove(self, now: float) -> bool:
        return self._since is not None and not self._broken(now) and now - self._since >= LEASE_SECONDS

    def renewed(self, asked: float, others: Iterable[float]) -> float:
        """The lease was renewed by a heartbeat that began at `asked`. Returns the seconds until the next one.

        `others` are the seconds that are left of the leases of other nodes: an expired one is removed soon.
        """
        if self._since is None or self._broken(asked):
            self._since = asked
        self._last = asked
        wait = self._since + LEASE_SECONDS - asked
        return min([BEAT_SECONDS, *(max(_SHORTEST, left + _SHORTEST, wait) for left in others)])

    def _broken(self, now: float) -> bool:
        return now - self._last >= _BREAK_SECONDS

    def lost(self) -> None:
        """This node was removed, and joins again."""
        self._since = None
