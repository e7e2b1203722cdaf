"""Trace contexts of W3C, and the ids of our spans.

These are derived from ids in the log, so that a span that is exported twice is the same span.
"""

import hashlib
import re
from typing import Final, NamedTuple

_TRACEPARENT: Final = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


class TraceContext(NamedTuple):
    """`trace_id` has 32 hexadecimal digits, `span_id` 16."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


def parsed(traceparent: str | None) -> TraceContext | None:
    """None if it is none, or of a later version: then the turn has a trace of its own."""
    found = _TRACEPARENT.fullmatch(traceparent.strip()) if traceparent else None
    return TraceContext(found[1], found[2]) if found else None


def turn_context(turn_id: str, parent: TraceContext | None) -> TraceContext:
    """The span of a turn: in the trace of the message that began it, else in its own."""
    return TraceContext(parent.trace_id if parent else _digest(turn_id, 16), span_id(turn_id))


def span_id(id: str) -> str:
    return _digest(id, 8)


def _digest(id: str, size: int) -> str:
    return hashlib.blake2b(id.encode(), digest_size=size, person=b"everyagent").hexdigest()
