"""The limits that sessions live by."""

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Times are seconds. `max_waiting_events` may be on their way to the disk before an agent is read no further."""

    idle_timeout: float = 600.0
    interrupt_grace: float = 10.0
    open_limit: float = 60.0
    close_limit: float = 15.0
    retries: int = 2
    retry_delay: float = 0.5
    max_waiting_events: int = 4000
    sweep_every: float = 1.0
