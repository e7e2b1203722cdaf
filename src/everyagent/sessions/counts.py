"""Counters since the daemon started, for `/metrics` and `/v1/agents`."""

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from everyagent.model.principals import current
from everyagent.model.sessions import UnknownFrame

if TYPE_CHECKING:
    from everyagent.sessions.machine.transaction import Transaction

#: The number of an agent's newest unknown frames that are kept as samples.
SAMPLES = 10


class CountsByWorkspace:
    """The counts of each workspace. `seen` has those that the current principal sees, added up."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counts] = defaultdict(Counts)

    def of(self, workspace: str) -> "Counts":
        return self._counts[workspace]

    def seen(self) -> "Counts":
        total, principal = Counts(), current()
        for workspace, counts in self._counts.items():
            if principal.sees(workspace):
                total.add(counts)
        return total


class Counts:
    """Counts by agent; turns by agent and stop reason, tokens by agent and kind. Costs are in dollars."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.turns: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[tuple[str, str]] = Counter()
        self.costs: defaultdict[str, float] = defaultdict(float)
        self.deaths: Counter[str] = Counter()
        self.unknown_frames: Counter[str] = Counter()
        self.unknown_samples: defaultdict[str, deque[UnknownFrame]] = defaultdict(lambda: deque(maxlen=SAMPLES))

    def count(self, agent: str, transaction: "Transaction") -> None:
        """A transaction of a session of this agent."""
        self.events[agent] += len(transaction.events)
        for turn in transaction.ended_turns:
            self.turns[agent, turn.stop_reason] += 1
            if turn.usage:
                for kind, tokens in asdict(turn.usage).items():
                    self.tokens[agent, kind.removesuffix("_tokens")] += tokens
            if turn.cost_usd:
                self.costs[agent] += turn.cost_usd
        if transaction.unparsed:
            self.unknown_frames[agent] += transaction.unparsed
            self.unknown_samples[agent].extend(transaction.samples)

    def add(self, other: "Counts") -> None:
        self.events += other.events
        self.turns += other.turns
        self.tokens += other.tokens
        for agent, cost in other.costs.items():
            self.costs[agent] += cost
        self.deaths += other.deaths
        self.unknown_frames += other.unknown_frames
        for agent, samples in other.unknown_samples.items():
            merged = sorted([*self.unknown_samples[agent], *samples], key=lambda sample: sample.time)
            self.unknown_samples[agent] = deque(merged, maxlen=SAMPLES)
