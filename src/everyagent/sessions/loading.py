"""Reads the past that a session goes on with: its open turn, its open asks, and the answers to parked ones."""

from typing import NamedTuple

import msgspec

from everyagent.log.intact_events import intact_events
from everyagent.log.log import AskRecord, EventQuery, Log, SessionRecord
from everyagent.model.asks import Answer, AskKind
from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import PermissionRequested, QuestionRequested, ToolRequested
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.machine.asks import Request
from everyagent.sessions.machine.parked import Answered, AnsweredAsk
from everyagent.sessions.machine.sequencer import Sequencer

_REQUESTS: dict[AskKind, type[Request]] = {
    "permission": PermissionRequested,
    "question": QuestionRequested,
    "tool": ToolRequested,
}


class Past(NamedTuple):
    """`sequencer` has seen the events of the open turn, and has all open asks."""

    sequencer: Sequencer
    answered: Answered


async def past_of(log: Log, record: SessionRecord) -> Past:
    sequencer = await _observed(log, record)
    if record.status == "waiting":
        for ask in await log.asks(record.number, pending=True):
            if not sequencer.asks.pending(ask.ask_id):
                sequencer.observe(_request(ask))
    ids = config_of(record).answered
    return Past(
        sequencer,
        Answered(
            await _answered(log, record.number, ids.undelivered), await _answered(log, record.number, ids.granted)
        ),
    )


async def _observed(log: Log, record: SessionRecord) -> Sequencer:
    """A sequencer that has seen the events of the open turn."""
    config = config_of(record)
    sequencer = Sequencer(derived=config.runner is not None)
    sequencer.asks.timeout = config.ask_timeout
    if record.open_turn:
        async for stored in intact_events(log, EventQuery(session=record.number, after=record.open_turn - 1)):
            data = decode_event(stored.body).data
            if not isinstance(data, UnknownData):
                sequencer.observe(data)
    return sequencer


async def _answered(log: Log, session: int, ask_ids: list[str]) -> tuple[AnsweredAsk, ...]:
    asks = [await log.ask(session, ask_id) for ask_id in ask_ids]
    return tuple(
        AnsweredAsk(_request(ask), msgspec.json.decode(ask.answer, type=Answer)) for ask in asks if ask and ask.answer
    )


def _request(ask: AskRecord) -> Request:
    return msgspec.json.decode(ask.request, type=_REQUESTS[ask.kind])
