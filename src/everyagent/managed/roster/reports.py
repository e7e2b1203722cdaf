"""Reports the state of a roster's threads to the session of their coordinator while they are at work."""

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple, cast

import anyio
import msgspec

from everyagent.errors import EveryagentError, SessionHasEnded, SessionNotFound
from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery
from everyagent.log.projections import ProjectionRecord
from everyagent.logs import get_logger
from everyagent.managed.projection.commands import CommandFrame, Sent, SentEvent, ThreadAsk, ThreadReport
from everyagent.managed.projection.events import (
    TYPE_NUMBERS,
    CustomToolUse,
    McpToolUse,
    SessionError,
    Stop,
    ThreadIdle,
    ThreadMessageSent,
    ToolUse,
)
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import AT_WORK, Action, State, Thread
from everyagent.managed.sessions.blocks import MessageBlock, Text
from everyagent.managed.sessions.client_events import (
    UserCustomToolResult,
    UserInterrupt,
    UserToolConfirmation,
    UserToolResult,
)
from everyagent.managed.sessions.presentation import document_of, state_of, subagents_of
from everyagent.model.decoding import decode_event
from everyagent.model.events import TurnEnded
from everyagent.model.ids import new_id
from everyagent.model.principals import EventActor, acting_in
from everyagent.model.sessions import SendMessage
from everyagent.sessions import EventsRequest, Sessions
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.messages import InputMessage, Submission
from everyagent.sessions.machine.projection import Projection

#: The name of the message that gives a coordinator the reply of a thread for which it does not wait.
REPLY: Final = "thread_reply"
_SILENT: Final = "The agent ended its turn without a message."
_INTERRUPTED: Final = "The turn was interrupted."
_ANSWERS = ("user.tool_confirmation", "user.custom_tool_result", "user.tool_result")
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_TOLD = (*_ANSWERS, "agent.thread_message_sent", "session.thread_status_idle", "session.error")
_CHANGES = tuple(
    name for name in TYPE_NUMBERS if name.startswith(("session.thread_", "span.model_request_end", "user."))
)
_NUMBERS = {
    kind: frozenset(TYPE_NUMBERS[name] for name in names)
    for kind, names in (("told", _TOLD), ("uses", _USES), ("changes", _CHANGES))
}
_RECENT = 200
#: Seconds after which a report that failed is made again.
_AGAIN = 1.0


class _End(Enum):
    """Marks the end of a tail."""

    END = 0


_END: Final = _End.END
_Told = UserToolConfirmation | UserCustomToolResult | UserToolResult | ThreadMessageSent | ThreadIdle | SessionError
_told = msgspec.json.Decoder(_Told)
_uses: "msgspec.json.Decoder[ToolUse | McpToolUse | CustomToolUse]" = msgspec.json.Decoder(
    ToolUse | McpToolUse | CustomToolUse
)
logger = get_logger(__name__)


class Rested(NamedTuple):
    """How a thread came to rest. `text` is its reply, or the reason why it has none."""

    replied: bool
    text: str


class _Expected(NamedTuple):
    """A call waits for the thread to rest after an event."""

    after: int
    rested: "asyncio.Future[Rested]"

    def resolve(self, rested: Rested) -> None:
        if not self.rested.done():
            self.rested.set_result(rested)


class _Look(NamedTuple):
    """A thread's session at one moment: the report of it, and how it rests, if it does."""

    report: ThreadReport
    rested: Rested | None


class ThreadReports:
    def __init__(self, sessions: Sessions) -> None:
        self._projected = sessions.projected
        self._sessions = sessions
        self._begun: asyncio.Queue[str] = asyncio.Queue()
        self._followed: dict[str, bool] = {}  # whether the session was begun again since it was looked at
        self._expected: dict[str, _Expected] = {}
        self._payers: dict[str, EventActor | None] = {}

    async def run(self) -> None:
        """For ever: follows the sessions of threads that begin to work."""
        async with anyio.create_task_group() as tasks:
            while True:
                tasks.start_soon(self._follow, await self._begun.get())

    def follow(self, session_id: str, payer: EventActor | None = None) -> None:
        """Reports the thread of this session until it rests. `payer` pays for what its reply causes."""
        if payer is not None:
            self._payers[session_id] = payer
        if session_id not in self._followed:
            self._begun.put_nowait(session_id)
        self._followed[session_id] = True

    def expect(self, session_id: str, *, after: int) -> None:
        """A call waits until the thread rests after this event of its session."""
        self._expected[session_id] = _Expected(after, asyncio.get_running_loop().create_future())

    async def rested(self, session_id: str) -> Rested:
        return await self._expected[session_id].rested

    def forget(self, session_id: str) -> None:
        """Nobody waits for the thread any more."""
        self._expected.pop(session_id, None)

    async def catch_up(self, session_id: str) -> None:
        """Reports the threads of a coordinator whose daemon died."""
        for thread in roster_of(await self._projected.log.projection(session_id)).values():
            self.follow(thread.session or "")

    async def interrupt(self, session_id: str, event: UserInterrupt | None = None) -> None:
        """Stops the turn of a thread, and withdraws what it asks."""
        frame: object = {"cause": "coordinator_interrupted"}
        if event is not None:
            frame = CommandFrame(managed=Sent(events=[SentEvent(event=event)]))
        batch = Batch(frame=msgspec.json.encode(frame), direction="daemon", interrupt=_INTERRUPTED)
        try:
            await self._projected.submit(session_id, lambda _: batch)
        except (SessionHasEnded, SessionNotFound) as error:
            logger.info("a thread could not be interrupted", session=session_id, why=str(error))
            return
        self.follow(session_id)

    # -- following ------------------------------------------------------------------------------------------

    async def _follow(self, session_id: str) -> None:
        rested = Rested(replied=False, text="The thread's session is gone.")
        try:
            projection = await self._projected.log.projection(session_id)
            with acting_in(projection.workspace):
                await self._report_until_rest(projection)
                return
        except SessionNotFound:
            logger.info("the session of a thread was deleted", session=session_id)
        except Exception as error:
            logger.exception("a thread could not be followed", session=session_id)
            rested = Rested(replied=False, text=f"The thread was lost: {error}")
        self._followed.pop(session_id, None)
        if expected := self._expected.get(session_id):
            expected.resolve(rested)

    async def _report_until_rest(self, projection: ProjectionRecord) -> None:
        session_id, told = projection.session_id, None
        tail = self._projected.tail(projection.session, projection.head)
        while True:
            self._followed[session_id] = False
            projection = await self._projected.log.projection(session_id)
            look, expected = await self._look(projection), self._expected.get(session_id)
            if expected and look.report.reached <= expected.after:
                expected = None
            if look.report != told:
                if not await self._tell(session_id, look, waits=expected is not None):
                    await anyio.sleep(_AGAIN)
                    continue
                told = look.report
            if look.rested:
                if expected:
                    expected.resolve(look.rested)
                if not self._followed[session_id]:
                    del self._followed[session_id]
                    return
            else:
                while not _matters(await anext(tail, _END)):
                    continue

    async def _look(self, projection: ProjectionRecord) -> _Look:
        state, of = state_of(projection), document_of(projection).thread_of
        assert of is not None
        thread = subagents_of(await self._projected.log.projection(of.session)).get(of.key)
        told = await self._since(projection, thread.reported if thread else 0)
        stop, primary = Stop(type="end_turn"), thread_id(of.session)
        answers: list[UserToolConfirmation | UserCustomToolResult | UserToolResult] = []
        reply: list[MessageBlock] = []
        errors: list[str] = []
        for event in told:
            match event:
                case UserToolConfirmation() | UserCustomToolResult() | UserToolResult():
                    answers.append(event)
                case ThreadMessageSent() if event.to_session_thread_id == primary:
                    reply = event.content
                case ThreadIdle() if event.session_thread_id == of.thread:
                    stop = event.stop_reason
                case SessionError():
                    errors.append(event.error.message)
                case _:  # those of the agent's own sub-agents
                    continue
        asks = await self._asks(projection, state)
        report = ThreadReport(
            key=of.key,
            reached=projection.head,
            status=state.status,
            stop=stop,
            usage=state.usage + state.spent,
            cost_usd=state.cost_usd + state.spent_usd,
            asks=asks,
            answers=answers,
            reply=reply,
        )
        if state.turn or asks or state.status in AT_WORK:
            return _Look(report, None)
        rested = _rested(report, errors)
        if rested.text == _SILENT and await self._interrupted(projection):
            rested = Rested(replied=False, text="The agent was interrupted.")
        return _Look(report, rested)

    async def _interrupted(self, projection: ProjectionRecord) -> bool:
        """Whether the latest turn was."""
        request = EventsRequest(types=("turn.ended",), order="desc", limit=1)
        page = await self._sessions.events(projection.session_id, request)
        return any(
            isinstance(ended, TurnEnded) and ended.stop_reason == "interrupted"
            for ended in (decode_event(body).data for body in page.split())
        )

    async def _since(self, projection: ProjectionRecord, after: int) -> Sequence[_Told]:
        found: list[_Told] = []
        query, more = EventQuery(session=0, after=after, limit=_RECENT, types=_NUMBERS["told"]), True
        while more:
            page = await self._projected.event_page(projection.session, query)
            found += [_told.decode(event.body) for event in page.events if event.sequence <= projection.head]
            more = page.more
            if page.events:
                query = msgspec.structs.replace(query, after=page.events[-1].sequence)
        return found

    async def _asks(self, projection: ProjectionRecord, state: State) -> dict[str, ThreadAsk]:
        """The required actions that the thread shows, with the events that ask for them."""
        wanted: dict[str, Action] = {
            event: action for event, action in state.actions.items() if state.status == "idle" and not action.granted
        }
        if not wanted:
            return {}
        query = EventQuery(session=0, limit=_RECENT, types=_NUMBERS["uses"], order="desc")
        page = await self._projected.event_page(projection.session, query)
        uses = {use.id: use for use in (_uses.decode(event.body) for event in reversed(page.events))}
        return {event: ThreadAsk(action=action, use=uses[event]) for event, action in wanted.items() if event in uses}

    async def _tell(self, session_id: str, look: _Look, *, waits: bool) -> bool:
        """Submits the report. A thread whose coordinator has ended is ended, too."""
        of = document_of(await self._projected.log.projection(session_id)).thread_of
        assert of is not None

        def plan(projection: Projection) -> Batch:
            batch, spent = _batch(cast("Projector", projection), look, waits=waits, payer=self._payers.get(session_id))
            over.append(spent)
            return batch

        over: list[bool] = []
        try:
            await self._projected.submit(of.session, plan)
            if look.rested:
                self._payers.pop(session_id, None)
            elif over[-1]:
                await self.interrupt(session_id)
        except (SessionHasEnded, SessionNotFound):
            await self._sessions.terminate(session_id)
        except EveryagentError as error:
            logger.warning("a thread could not be reported", session=session_id, why=str(error))
            return False
        return True


def _batch(projector: Projector, look: _Look, *, waits: bool, payer: EventActor | None) -> tuple[Batch, bool]:
    """The report for the coordinator's session, with what follows from it there; and whether its budget is used up."""
    report, state = look.report, projector.state
    thread = projector.threads.get(report.key)
    submission: Submission | None = None
    if thread and thread.owes and report.reply and look.rested and not waits:
        text = f"The agent {thread.name!r} (thread {thread.id}) has replied:\n\n{look.rested.text}"
        entry = InputMessage(item_id=new_id("itm_"), message=SendMessage(message=text), name=REPLY)
        submission = Submission(entries=[entry])
    limit = projector.document.limit_usd
    more = report.cost_usd - thread.cost_usd if thread else 0.0
    over = limit is not None and state.total_usd + more >= limit
    stops = over and state.turn
    batch = Batch(
        frame=msgspec.json.encode(CommandFrame(managed=report)),
        direction="daemon",
        submission=submission,
        interrupt=_INTERRUPTED if stops else None,
        stop_reason="budget" if stops else "interrupted",
        actor=payer or msgspec.UNSET,
    )
    return batch, over


def _rested(report: ThreadReport, errors: Sequence[str]) -> Rested:
    text = "\n\n".join(block.text for block in report.reply if isinstance(block, Text))
    if text:
        return Rested(replied=True, text=text)
    match report.stop.type:
        case _ if report.status == "terminated":
            return Rested(replied=False, text="The thread was ended.")
        case "end_turn":
            return Rested(replied=True, text=_SILENT)
        case _:
            why = f" {errors[-1]}" if errors else ""
            return Rested(replied=False, text=f"The agent stopped: {report.stop.type}.{why}")


def _matters(chunk: EventChunk | _End | None) -> bool:
    if chunk is _END:
        raise SessionNotFound("The session is gone, or the daemon stops.")
    return isinstance(chunk, EventChunk) and any(event.type in _NUMBERS["changes"] for event in chunk.events)


def roster_of(projection: ProjectionRecord) -> dict[str, Thread]:
    """The threads of the roster, by their keys."""
    return {key: thread for key, thread in subagents_of(projection).items() if thread.session}
