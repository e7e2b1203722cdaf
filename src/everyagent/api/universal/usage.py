"""The route of usage and cost."""

from datetime import date
from typing import Annotated

from msgspec import Meta, Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.model.usage import UsageField, UsageReport
from everyagent.sessions import UsageRequest

routes = Routes("sessions")


class UsageParameters(Struct, frozen=True, kw_only=True, rename="camel"):
    """`by` has the fields to group by, with commas between them: `by=day,model`.

    `since` (inclusive) and `until` (exclusive) are days in UTC. The others limit what is counted.
    """

    by: list[UsageField] = []
    since: date | None = None
    until: date | None = None
    session_id: str | None = None
    agent: str | None = None
    model: str | None = None
    workspace: str | None = None
    key_id: str | None = None
    directory: str | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


@routes.add("GET", "/v1/usage")
async def usage(call: Call[UsageParameters, Nothing]) -> UsageReport:
    """Sum tokens, cost, turns and the time in which people were waited for. Deleted sessions count, too."""
    asked = call.query
    return await call.sessions.usage(
        UsageRequest(
            by=asked.by,
            since=asked.since,
            until=asked.until,
            session_id=asked.session_id,
            agent=asked.agent,
            model=asked.model,
            workspace=asked.workspace,
            key_id=asked.key_id,
            directory=asked.directory,
            limit=asked.limit,
        )
    )
