"""The order rules every session keeps (`docs/invariants.md`), for tests of adapters, daemons and clients.

`check(events)` says what a whole session broke; `Rules` eats the events of a live one.
"""

from everyagent.testing.rules.checker import Rules, Violation, check

__all__ = ["Rules", "Violation", "check"]
