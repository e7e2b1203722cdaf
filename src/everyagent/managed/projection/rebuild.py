"""Rebuilds a projection from the session's events and frames."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from everyagent.errors import LogDamaged
from everyagent.log.log import EventQuery, Log, NewEvent, StoredEvent
from everyagent.log.projections import PROJECTION, SUPERSEDED, ProjectionRecord, ProjectionStep
from everyagent.managed.projection.document import SessionDocument, settle
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import State
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import TYPE_NUMBERS, ItemDelta
from everyagent.model.sessions import FrameInfo

_PAGE = 1000
_PROJECTED = frozenset(TYPE_NUMBERS.values()) - {TYPE_NUMBERS[ItemDelta.type]}
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")


class NotRebuildable(Exception):
    """The frames of the session are incomplete or unreadable."""


class Rebuilt(NamedTuple):
    """The whole projection as one step, and the time of each of its events."""

    step: ProjectionStep
    times: list[int]

    def differs_from(self, kept: list[StoredEvent], projection: ProjectionRecord) -> str | None:
        """The first difference from the stored projection, in words; None if there is none."""
        made = stored(self.step)
        for mine, other in zip(made, kept, strict=False):
            if mine != other:
                return f"event {mine.sequence} is {other.body.decode()} and should be {mine.body.decode()}"
        if len(made) != len(kept):
            return f"there are {len(kept)} events and should be {len(made)}"
        if (projection.status, projection.hidden) != (self.step.status, self.step.hidden):
            return f"its status is {projection.status} and should be {self.step.status}"
        state, document = _settled(projection.state, projection.document)
        expected_state, expected_document = _settled(self.step.state, self.step.document or b"")
        if state != expected_state:
            return f"its state is {projection.state.decode()} and should be {self.step.state.decode()}"
        return None if document == expected_document else "its document is another than it should be"


def _settled(state: bytes, document: bytes) -> tuple[State, SessionDocument]:
    """Earlier versions kept threads at rest and ended outcomes in the state, which makes no difference."""
    decoded = msgspec.json.decode(state, type=State)
    return decoded, settle(decoded, msgspec.json.decode(document, type=SessionDocument))


def stored(step: ProjectionStep) -> list[StoredEvent]:
    again = set(step.superseded)
    return [
        StoredEvent(event.sequence, SUPERSEDED if event.sequence in again else event.type, event.body)
        for event in step.events
    ]


async def rebuild(log: Log, session_id: str) -> Rebuilt:
    try:
        return await _rebuild(log, session_id)
    except (msgspec.MsgspecError, OSError, LogDamaged) as error:
        raise NotRebuildable(f"what it was made of cannot be read: {error}") from error


async def _rebuild(log: Log, session_id: str) -> Rebuilt:
    record = await log.session(session_id)
    events = _events(log, record.number)
    projector: Projector | None = None
    gathered: list[ProjectionStep] = []
    times: list[int] = []
    waiting = await anext(events, None)
    async for frame in _frames(log, record.number):
        if projector is None:
            projector = Projector(session_id, msgspec.json.encode(State()), _first_document(frame))
        at = _micros(frame.time)
        projector.begin_frame(frame.direction, msgspec.json.encode(frame.body), at)
        while waiting is not None and waiting.sequence <= max(frame.sequences, default=0):
            data = decode_event(waiting.body).data
            if not isinstance(data, UnknownData):
                projector.event(data)
            waiting = await anext(events, None)
        projector.end_frame()
        step = projector.take()
        if step is not None:
            gathered.append(step)
            times += [at] * len(step.events)
    if projector is None:
        raise NotRebuildable("none of its frames are there")
    return Rebuilt(_joined(gathered, projector), times)


async def kept_events(log: Log, session: int) -> list[StoredEvent]:
    return [event async for event in _pages(log, EventQuery(session=session | PROJECTION, limit=_PAGE))]


def _joined(steps: list[ProjectionStep], projector: Projector) -> ProjectionStep:
    events: list[NewEvent] = [event for step in steps for event in step.events]
    archived = [step.archived_at for step in steps if step.archived_at is not msgspec.UNSET]
    return ProjectionStep(
        expected=0,
        status=projector.state.status,
        state=steps[-1].state if steps else msgspec.json.encode(State()),
        hidden=projector.state.hidden,
        events=events,
        superseded=[number for step in steps for number in step.superseded],
        document=msgspec.json.encode(projector.document),
        archived_at=archived[-1] if archived else msgspec.UNSET,
    )


def _first_document(frame: FrameInfo) -> bytes:
    """The document that the session was created with, from its first frame."""
    match frame.body:
        case {"view": document}:
            return msgspec.json.encode(document)
        case _:
            raise NotRebuildable(f"frame {frame.number} does not say what the managed session was made with")


async def _frames(log: Log, session: int) -> AsyncIterator[FrameInfo]:
    after, more = 0, True
    while more:
        frames, more = await log.frames(session, after, _PAGE)
        for frame in frames:
            yield frame
            after = frame.number


def _events(log: Log, session: int) -> AsyncIterator[StoredEvent]:
    return _pages(log, EventQuery(session=session, limit=_PAGE, types=_PROJECTED))


async def _pages(log: Log, query: EventQuery) -> AsyncIterator[StoredEvent]:
    more = True
    while more:
        page = await log.events(query)
        for event in page.events:
            yield event
            query = msgspec.structs.replace(query, after=event.sequence)
        more = page.more


def _micros(time: str) -> int:
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1)
