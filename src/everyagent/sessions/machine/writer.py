"""What a live session knows of itself, and how it gets to the log: in order, with a bound on what is on its way."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from everyagent.agents.adapter import Heard, NativeSession, Synthetic
from everyagent.errors import EveryagentError
from everyagent.log.log import Append, FrameDirection, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.events import SessionEnded, SessionStatus, SessionUpdated
from everyagent.sessions.machine.projection import Projection
from everyagent.sessions.machine.sequencer import Emission, Sequencer
from everyagent.sessions.machine.step import Scribe, Step
from everyagent.sessions.refusals import session_ended
from everyagent.sessions.session_context import SessionContext

logger = get_logger(__name__)


class Journal:
    """`record` is the session's row as it is once all steps so far are written.

    `lost` is called once, when the log refuses a step because somebody else writes to the session.
    """

    def __init__(
        self, record: SessionRecord, context: SessionContext, lost: Callable[[], None], view: Projection | None = None
    ) -> None:
        self.record = record
        self.order = Sequencer()
        self.status: SessionStatus = record.status
        self._scribe = Scribe(record, context.clock, view, context.prices)
        self._status_before: SessionStatus = record.status
        self._record_before = record
        self._log = context.log
        self._counts = context.counts
        self._max_waiting = context.policy.max_waiting_events
        self._lost: Callable[[], None] | None = lost
        self._waiting = 0
        self._room = asyncio.Event()

    @property
    def ended(self) -> bool:
        return self.status == "ended"

    def refuse_if_ended(self) -> None:
        if self.ended:
            raise session_ended(self.record.session_id)

    @property
    def busy(self) -> bool:
        """A turn runs, or somebody is asked: the agent must stay."""
        return self.order.turn_id is not None or len(self.order.asks) > 0

    @property
    def native_session_id(self) -> str | None:
        return self._scribe.native_session_id

    # -- status ---------------------------------------------------------------------------------------------

    def settle(self, step: Step, rest: SessionStatus = "idle") -> None:
        """Tell the status if it changed; it is `rest` when no turn runs."""
        if self.ended:
            return
        if len(self.order.asks):
            self.set_status(step, "waiting")
        else:
            self.set_status(step, "running" if self.order.turn_id else rest)

    def set_status(self, step: Step, status: SessionStatus) -> None:
        if status != self.status:
            self.status = status
            step.tell([Emission(SessionUpdated(status=status), True)])

    def end(self, step: Step) -> None:
        """After `session.ended` was told."""
        self.status = "ended"
        step.change(status="ended", live=False)

    # -- hearing --------------------------------------------------------------------------------------------

    def take_in(self, step: Step, said: Heard) -> bool:
        """Tell what a frame means. True: its agent ended the session, and nothing follows that."""
        for draft in said.drafts:
            match draft:
                case NativeSession():
                    step.native(draft.id)
                case Synthetic():
                    step.tell(self.order.apply(draft.data, synthetic=True))
                case _:
                    step.tell(self.order.apply(draft))
            if isinstance(draft, SessionEnded):
                return True
        return False

    # -- writing --------------------------------------------------------------------------------------------

    def begin(self, direction: FrameDirection, cause: bytes | Mapping[str, object]) -> Step:
        """A step made by this frame, or by what the daemon notes in place of one."""
        self._status_before = self.status
        step = self._scribe.begin()
        step.cause(direction, cause if isinstance(cause, bytes) else msgspec.json.encode(cause))
        return step

    def listen(self) -> Step:
        """A step made by what the agent says: each frame is its own cause."""
        self._status_before = self.status
        return self._scribe.begin()

    async def write(self, step: Step, *, patient: bool = False) -> None:
        """Commit and wait for it. If it fails, it did not happen. Not `patient`: a full disk fails at once."""
        try:
            await self._log.append(self._finished(step), patient=patient)
        except EveryagentError:
            step.undo()
            self.status, self.record = self._status_before, self._record_before
            raise

    def commit(self, step: Step) -> None:
        """Commit after all that was committed before, without waiting. A full disk is waited out."""
        append = self._finished(step)
        count = len(append.events)
        self._waiting += count
        self._log.append(append, patient=True).add_done_callback(lambda done: self._committed(done, count))

    def _finished(self, step: Step) -> Append:
        append = step.finish()
        self._record_before = self.record
        if append.changes:
            self.record = append.changes.applied_to(self.record)
        self._counts.events[self.record.agent] += len(append.events)
        if step.stop_reason:
            self._counts.turns[self.record.agent, step.stop_reason] += 1
        if step.unparsed:
            self._counts.unknown_frames[self.record.agent] += step.unparsed
            self._counts.unknown_samples[self.record.agent].extend(step.unknown)
        return append

    async def room(self) -> None:
        """Wait while too many events are on their way to the disk: back-pressure on whoever makes them."""
        await self._fewer_than(self._max_waiting)

    async def written(self) -> None:
        """Wait until everything told so far is on disk."""
        await self._fewer_than(0)

    async def _fewer_than(self, events: int) -> None:
        while self._waiting > events:
            self._room.clear()
            await self._room.wait()

    def _committed(self, done: "asyncio.Future[None]", count: int) -> None:
        self._waiting -= count
        self._room.set()
        error = None if done.cancelled() else done.exception()
        if error and self._lost:
            logger.error("the log refused the session's events", session=self.record.session_id, error=str(error))
            lost, self._lost = self._lost, None
            lost()
