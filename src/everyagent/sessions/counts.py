"""Counters since the daemon started, for `/metrics` and `/v1/agents`."""

from collections import Counter, defaultdict, deque

from everyagent.model.sessions import UnknownFrame

#: The number of an agent's newest unknown frames that are kept as samples.
SAMPLES = 10


class Counts:
    """Counts by agent; turns by agent and stop reason."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.turns: Counter[tuple[str, str]] = Counter()
        self.deaths: Counter[str] = Counter()
        self.unknown_frames: Counter[str] = Counter()
        self.unknown_samples: defaultdict[str, deque[UnknownFrame]] = defaultdict(lambda: deque(maxlen=SAMPLES))
