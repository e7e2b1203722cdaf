"""The audit entry of the running request, which the first transaction of its effect takes along."""

from contextvars import ContextVar

from msgspec.structs import replace

from everyagent.log.audit import AuditEntry


class PendingAudit:
    """`entry` is None as soon as it is part of a transaction."""

    def __init__(self, entry: AuditEntry) -> None:
        self.entry: AuditEntry | None = entry


_pending: ContextVar[PendingAudit | None] = ContextVar("pending_audit", default=None)


def set_pending(pending: PendingAudit | None) -> None:
    """For the rest of the running task."""
    if pending is not _pending.get():  # a variable that is set takes memory for as long as the task runs
        _pending.set(pending)


def take_pending(*, session_id: str | None = None, subject: str | None = None) -> AuditEntry | None:
    """The arguments name what the effect creates, where the path of the request does not."""
    pending = _pending.get()
    if pending is None or pending.entry is None:
        return None
    entry, pending.entry = pending.entry, None
    return replace(entry, session_id=entry.session_id or session_id, subject=entry.subject or subject)
