"""Reports the effects of requests in the audit trail: in the transaction of the effect, or right after it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from everyagent.access.keyring import Keyring, workspace_of
from everyagent.access.requests import AuditEntry, PendingAudit, set_pending
from everyagent.errors import EveryagentError, RateLimited
from everyagent.model.principals import Principal

T = TypeVar("T")
_READS = ("GET", "HEAD")


class RequestAudit:
    def __init__(self, keys: Keyring | None) -> None:
        self._keys = keys

    async def report(
        self, principal: Principal, method: str, route: str, path: dict[str, str], work: Callable[[], Awaitable[T]]
    ) -> T:
        """Runs `work`. Reads are not reported, and neither are requests over a key's rate."""
        keys, actor = self._keys, principal.actor
        if keys is None or actor is None or method in _READS:
            set_pending(None)
            return await work()
        entry = AuditEntry(
            at=keys.now(),
            key_id=actor.key_id,
            name=actor.name,
            workspace=workspace_of(principal),
            operation=f"{method} {route}",
            session_id=path.get("session_id"),
            subject=next((value for name, value in reversed(path.items()) if name != "session_id"), None),
        )
        pending = PendingAudit(entry)
        set_pending(pending)
        try:
            answer = await work()
        except RateLimited:
            raise
        except EveryagentError as error:
            await keys.audit.keep(replace(entry, outcome=error.code))
            raise
        finally:
            set_pending(None)
        if pending.entry is not None:
            pending.entry = None
            await keys.audit.keep(entry)
        return answer
