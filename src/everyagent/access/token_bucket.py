"""Token buckets: limits on how often something happens."""

from collections import OrderedDict
from collections.abc import Callable

Clock = Callable[[], float]


class TokenBucket:
    """Allows `per_minute` uses on average, and `burst` at once after a pause: by default those of a minute."""

    __slots__ = ("_at", "_burst", "_room", "per_minute")

    def __init__(self, per_minute: float, now: float, burst: float | None = None) -> None:
        self.per_minute = per_minute
        self._burst = per_minute if burst is None else burst
        self._room = float(self._burst)
        self._at = now

    def take(self, now: float) -> float:
        """0 if one more is allowed; else the seconds until it is."""
        passed, self._at = max(0.0, now - self._at), now
        self._room = min(self._burst, self._room + passed * self.per_minute / 60)
        if self._room >= 1:
            self._room -= 1
            return 0.0
        return (1 - self._room) * 60 / self.per_minute


class PeerLimits:
    """A bucket for each of the peers that were seen last: memory is bounded, however many there are."""

    def __init__(self, per_minute: float, *, burst: float | None = None, peers: int = 4096) -> None:
        self._per_minute = per_minute
        self._burst = burst
        self._peers = peers
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, peer: str, now: float) -> float:
        bucket = self._buckets.get(peer)
        if bucket is None:
            bucket = self._buckets[peer] = TokenBucket(self._per_minute, now, self._burst)
            if len(self._buckets) > self._peers:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(peer)
        return bucket.take(now)
