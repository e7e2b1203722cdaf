"""Answers asks that nobody answered within their session's `askTimeout`. Used by the sweep.

A deadline is a time of day in the ask's event, so it holds across restarts. Asks are looked at about once a second.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from everyagent.clock import Clock, rfc3339
from everyagent.errors import EveryagentError
from everyagent.log.log import Log
from everyagent.model.principals import DAEMON_ID, EventActor
from everyagent.sessions.isolated_faults import faults_of
from everyagent.sessions.machine.inputs import Batch

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor

_ACTOR = EventActor(key_id=DAEMON_ID, name="askTimeout")


class _Deadline(msgspec.Struct, frozen=True):
    expires_at: str | None = None


def deadline_of(request: bytes) -> str | None:
    """The deadline of a stored ask, in RFC 3339."""
    return msgspec.json.decode(request, type=_Deadline).expires_at


class AskDeadlines:
    """`spawn` runs an async function for a workspace in the background."""

    def __init__(self, clock: Clock, spawn: Callable[..., None]) -> None:
        self._clock = clock
        self._spawn = spawn

    async def sessions(self, log: Log) -> set[str]:
        """Sessions with asks that have a deadline: they must be in memory to be answered."""
        return {ask.session_id for ask in await log.asks(None, pending=True) if deadline_of(ask.request)}

    def look(self, actors: "Mapping[str, Actor]") -> None:
        now = rfc3339(self._clock.micros())
        for session_id, actor in actors.items():
            with faults_of(session_id):
                asks = actor.machine.state.sequencer.asks
                if len(asks) and asks.expired(now):
                    self._spawn(actor.record.workspace, _answer, actor, now)


async def _answer(actor: "Actor", now: str) -> None:
    def plan(*_: object) -> Batch | None:
        answers = actor.machine.state.sequencer.asks.expired(now)
        frame = msgspec.json.encode({"cause": "ask_timeout", "asks": [ask_id for ask_id, _ in answers]})
        return Batch(frame=frame, direction="daemon", answers=answers, actor=_ACTOR) if answers else None

    with suppress(EveryagentError):  # the session has ended, or nothing can be stored now: the next look tries again
        await actor.submit(plan)
