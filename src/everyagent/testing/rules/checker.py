"""Applies all order rules to one session's events."""

from collections.abc import Iterable, Iterator

from msgspec import Raw, Struct
from msgspec.json import Decoder

from everyagent.model.decoding import decode_event
from everyagent.testing.rules.asks import RuleF
from everyagent.testing.rules.envelope import EventId, RuleI, Sequence, SyntheticFlag, Time
from everyagent.testing.rules.items import RuleB, RuleC, RuleD, RuleH
from everyagent.testing.rules.rule import AnyEvent, Rule
from everyagent.testing.rules.turns import RuleA, RuleE, RuleG, RuleJ

_keys = Decoder(dict[str, Raw])


class Violation(Struct, frozen=True, kw_only=True):
    """`rule` is a letter of `docs/invariants.md`, or the name of one of the envelope's rules."""

    rule: str
    sequence: int
    message: str

    def __str__(self) -> str:
        return f"rule {self.rule}, at sequence {self.sequence}: {self.message}"


class Rules:
    """Takes one session's events, from the first on, and collects `violations`."""

    def __init__(self, *, include_raw: bool = False) -> None:
        self.violations: list[Violation] = []
        self._sequence = 0
        self._rules: list[Rule] = [
            Sequence(),
            EventId(),
            Time(),
            SyntheticFlag(),
            RuleA(),
            RuleB(),
            RuleC(),
            RuleD(),
            RuleE(),
            RuleF(),
            RuleG(),
            RuleH(),
            RuleJ(),
            RuleI(include_raw=include_raw),
        ]

    def feed(self, event: AnyEvent) -> None:
        self._sequence = event.sequence
        for rule in self._rules:
            self._note(rule, rule.see(event))

    def feed_body(self, body: bytes) -> None:
        """Takes an event as JSON, in which a missing `raw` differs from null."""
        if "raw" not in _keys.decode(body):
            self.violations.append(Violation(rule="i", sequence=self._sequence + 1, message="there is no `raw`"))
        self.feed(decode_event(body))

    def finish(self) -> list[Violation]:
        """All violations of a session at rest, in which nothing may be open. Not for a stream that was cut."""
        for rule in self._rules:
            self._note(rule, rule.end())
        return self.violations

    def _note(self, rule: Rule, messages: Iterator[str]) -> None:
        self.violations += [Violation(rule=rule.name, sequence=self._sequence, message=each) for each in messages]


def check(events: Iterable[AnyEvent], *, include_raw: bool = False) -> list[Violation]:
    """The violations of a whole session at rest."""
    rules = Rules(include_raw=include_raw)
    for event in events:
        rules.feed(event)
    return rules.finish()
