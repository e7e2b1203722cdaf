"""Exports the turns of all sessions, from a cursor in the log on.

A collector that is away is waited for, and nothing else waits: sessions do not know of it.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Final

import anyio
import msgspec
from msgspec import Struct

from everyagent.errors import OffsetOutOfRange, RecordNotFound, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery, FeedPosition, Log, StoredEvent
from everyagent.log.records import Insert, Records, Replace
from everyagent.logs import get_logger
from everyagent.model.decoding import decode_event
from everyagent.model.events import TYPE_NUMBERS, ItemDelta, SessionUpdated, TurnEnded, TurnStarted
from everyagent.telemetry.delivery import Delivery, Sender
from everyagent.telemetry.span import Span
from everyagent.telemetry.turn_spans import TracedSession, TurnSpans

_KIND: Final = "telemetry"
_ID: Final = "telemetry_cursor"
_STARTED: Final = TYPE_NUMBERS[TurnStarted.type]
_ENDED: Final = TYPE_NUMBERS[TurnEnded.type]
#: Deltas are most of the log, and no span needs them.
_READ: Final = frozenset(TYPE_NUMBERS.values()) - {TYPE_NUMBERS[ItemDelta.type]}
_AFTER_ALL: Final = 2**31 - 1
_KEEP_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 3.0
#: Spans of one request to the collector.
_BATCH: Final = 500
logger = get_logger(__name__)


class _Cursor(Struct, frozen=True, kw_only=True):
    commit: int
    sequence: int


class TraceCourier:
    """`nodes` are the ids of the nodes of a cluster, one of which exports, and of this one."""

    def __init__(
        self,
        log: Log,
        sender: Sender,
        *,
        content: bool,
        nodes: Callable[[], tuple[Sequence[str], str]] | None = None,
    ) -> None:
        self._log = log
        self._records: Records = log.records
        self._sender = sender
        self._delivery = Delivery(sender)
        self._content = content
        self._nodes = nodes
        self._version = 0
        self._kept = FeedPosition(0, 0)
        self._kept_at = 0.0

    async def run(self) -> None:
        """Until it is cancelled. After a failure it is begun again, from its cursor on."""
        try:
            while True:
                if self._mine():
                    await self._export_from(await self._cursor())
                else:
                    await anyio.sleep(_LOOK_SECONDS)
        except anyio.get_cancelled_exc_class():
            self._sender.close()
            raise

    def _mine(self) -> bool:
        """Every node gives the same answer."""
        if self._nodes is None:
            return True
        nodes, own = self._nodes()
        return own == max(nodes, key=lambda node: hashlib.sha256(f"{_ID} {node}".encode()).digest(), default="")

    async def _cursor(self) -> FeedPosition:
        """The first time it is the end of the log: what was before is not exported."""
        try:
            record = await self._records.find(_KIND, _ID)
        except RecordNotFound:
            self._kept = FeedPosition(self._log.last_commit, _AFTER_ALL)
            (record,) = await self._records.write(Insert(kind=_KIND, id=_ID, body=_encoded(self._kept)))
        cursor = msgspec.json.decode(record.body, type=_Cursor)
        self._version, self._kept = record.version, FeedPosition(cursor.commit, cursor.sequence)
        return self._kept

    async def _export_from(self, position: FeedPosition) -> None:
        try:
            async for chunk in self._log.feed(position):
                if not self._mine():
                    return
                if chunk is None:
                    await self._keep(position)
                    continue
                for event in chunk.events:
                    # A turn in the commit that created its session was copied from another one.
                    if event.type == _ENDED and chunk.first > 1:
                        await self._export(chunk, event)
                position = FeedPosition(chunk.commit, chunk.last)
                if time.monotonic() - self._kept_at > _KEEP_SECONDS:
                    await self._keep(position)
        except OffsetOutOfRange:
            logger.error("the log is older than the cursor of telemetry: it continues from now on")
            await self._keep(FeedPosition(self._log.last_commit, _AFTER_ALL))

    async def _keep(self, position: FeedPosition) -> None:
        """A span that is exported twice after a crash has the same id both times."""
        if position != self._kept:
            change = Replace(kind=_KIND, id=_ID, version=self._version, body=_encoded(position))
            (record,) = await self._records.write(change)
            self._version, self._kept = record.version, position
        self._kept_at = time.monotonic()

    async def _export(self, chunk: EventChunk, ended: StoredEvent) -> None:
        try:
            spans = await self._spans(chunk.session, ended)
        except SessionNotFound:  # deleted meanwhile
            return
        except Exception:
            logger.exception("a turn makes no trace", session=chunk.session, sequence=ended.sequence)
            return
        for start in range(0, len(spans), _BATCH):
            await self._delivery.send(spans[start : start + _BATCH])

    async def _spans(self, session: int, ended: StoredEvent) -> list[Span]:
        """Read page by page: a turn may be of any length."""
        record = await self._log.session_by_number(session)
        before = EventQuery(session=session, after=ended.sequence, limit=1, types=frozenset((_STARTED,)), order="desc")
        begun = await self._log.events(before)
        if not begun.events:
            return []
        first = begun.events[0].sequence
        model = await self._model_before(session, first)
        of = TracedSession(
            session_id=record.session_id, agent=record.agent, workspace=record.workspace, model=model or record.model
        )
        turn = TurnSpans(of, content=self._content)
        after = first - 1
        while after < ended.sequence:
            page = await self._log.events(EventQuery(session=session, after=after, types=_READ))
            for event in page.events:
                if spans := turn.add(decode_event(event.body)):
                    return spans
                after = event.sequence
            if not page.events:
                break
        return []

    async def _model_before(self, session: int, sequence: int) -> str | None:
        """The model that was last chosen before the turn, if it was ever changed."""
        changes = EventQuery(
            session=session,
            after=sequence,
            limit=50,
            types=frozenset((TYPE_NUMBERS[SessionUpdated.type],)),
            order="desc",
        )
        for event in (await self._log.events(changes)).events:
            data = decode_event(event.body).data
            if isinstance(data, SessionUpdated) and isinstance(data.model, str):
                return data.model
        return None


def _encoded(position: FeedPosition) -> bytes:
    return msgspec.json.encode(_Cursor(commit=position.commit, sequence=position.sequence))
