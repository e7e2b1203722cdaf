"""Finds answers to required actions in the log that the session's state has forgotten."""

from collections.abc import Sequence

import msgspec

from everyagent.log.log import EventQuery
from everyagent.log.projections import ProjectionRecord
from everyagent.managed.projection.actions import digest_of
from everyagent.managed.projection.events import TYPE_NUMBERS
from everyagent.managed.sessions.client_events import (
    ANSWERS,
    ClientEvent,
    UserCustomToolResult,
    UserToolConfirmation,
    UserToolResult,
    answered_use,
    type_of,
)
from everyagent.managed.sessions.presentation import state_of
from everyagent.sessions.projected import ProjectedSessions

#: So many of the session's latest answers are looked through.
LOOKED_THROUGH = 10_000
_PAGE = 1000
_answers = msgspec.json.Decoder(UserToolConfirmation | UserCustomToolResult | UserToolResult)


async def answered_earlier(
    projected: ProjectedSessions, session_id: str, projection: ProjectionRecord, events: Sequence[ClientEvent]
) -> frozenset[str]:
    """Those of the answered uses to which the session has the same answer already."""
    state = state_of(projection)
    wanted = {
        (use, digest_of(event)): type_of(event)
        for event in events
        if isinstance(event, ANSWERS) and (use := answered_use(event) or "") not in state.actions
    }
    wanted = {key: name for key, name in wanted.items() if state.answers.get(key[0]) != key[1]}
    found: set[str] = set()
    types = frozenset(TYPE_NUMBERS[name] for name in wanted.values())
    query = EventQuery(session=0, limit=_PAGE, types=types, order="desc")
    for _ in range(LOOKED_THROUGH // _PAGE):
        if len(found) == len(wanted):
            break
        page = await projected.page(session_id, query)
        for body in page.split():
            answer = _answers.decode(body)
            if (use := answered_use(answer) or "", digest_of(answer)) in wanted:
                found.add(use)
        if not page.more:
            break
        query = msgspec.structs.replace(query, after=page.last)
    return frozenset(found)
