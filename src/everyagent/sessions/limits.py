"""Time limits and bounds of live sessions."""

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Times are seconds. An agent is not read while its session has more than `max_waiting_bytes` to commit, or all
    sessions have more than `max_waiting_bytes_in_all`, for example because the disk is full.

    A turn whose agent sends nothing for `turn_timeout` is ended, unless its session has another one. Of `turn_timeout`
    and the `max_...` below, 0 is no limit.

    A session that was lost is loaded again after `reload_delay`, then after twice that, up to `reload_delay_most`.
    """

    idle_timeout: float = 600.0
    turn_timeout: float = 0.0
    max_queued_messages: int = 1000
    max_sessions: int = 0
    max_agents: int = 0
    interrupt_grace: float = 10.0
    open_limit: float = 60.0
    close_limit: float = 15.0
    retries: int = 2
    retry_delay: float = 0.5
    max_waiting_bytes: int = 4 << 20
    max_waiting_bytes_in_all: int = 64 << 20
    sweep_every: float = 1.0
    reload_delay: float = 0.1
    reload_delay_most: float = 5.0
