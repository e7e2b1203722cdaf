"""Which sessions are deleted by themselves: by age, by the size of the log, and by status. No I/O."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.model.sessions import SessionInfo

#: `ended`: only sessions that have ended. `idle`: also those that wait for a message.
RetainedStatus: TypeAlias = Literal["ended", "idle"]
_DAY = 86_400_000


class Retention(Struct, frozen=True, kw_only=True):
    """A session is deleted `days` after its last event, or when it is the oldest in a log of more than `events`.

    Of both, 0 is no limit. Only sessions of this `status` are deleted.
    """

    days: float = 0.0
    events: int = 0
    status: RetainedStatus = "ended"

    @property
    def deletes(self) -> bool:
        return bool(self.days or self.events)

    def due(self, sessions: Iterable[SessionInfo], now: int) -> list[SessionInfo]:
        """The sessions to delete, oldest first. `sessions` are all; `now` is in milliseconds."""
        found = sorted(sessions, key=lambda info: (info.updated_at, info.created_at))
        left = sum(info.event_count for info in found)
        chosen: list[SessionInfo] = []
        for info in found:
            old = self.days > 0 and info.updated_at < now - self.days * _DAY
            if self._may_go(info) and (old or 0 < self.events < left):
                left -= info.event_count
                chosen.append(info)
        return chosen

    def _may_go(self, info: SessionInfo) -> bool:
        if info.status == "ended":
            return True
        waits = info.pending_asks or info.queued_messages
        return self.status == "idle" and info.status in ("idle", "hibernated") and not waits
