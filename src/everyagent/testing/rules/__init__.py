"""Checks the order rules of sessions (`docs/invariants.md`), for tests of adapters, daemons and clients.

`check(events)` returns the violations of a whole session; `Rules` takes the events of a live one.
"""

from everyagent.testing.rules.checker import Rules, Violation, check

__all__ = ["Rules", "Violation", "check"]
