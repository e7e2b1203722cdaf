"""Reads the session of a roster's thread for a report of it to the session of its coordinator."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from everyagent.log.chunk import EventChunk
from everyagent.log.log import EventQuery
from everyagent.log.projections import ProjectionRecord
from everyagent.managed.projection.commands import ThreadAsk, ThreadReport
from everyagent.managed.projection.document import ThreadOf
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
from everyagent.managed.projection.state import AT_WORK, Action, State
from everyagent.managed.sessions.blocks import MessageBlock, Text
from everyagent.managed.sessions.client_events import UserCustomToolResult, UserToolConfirmation, UserToolResult
from everyagent.managed.sessions.presentation import state_of, subagents_of
from everyagent.model.decoding import decode_event
from everyagent.model.events import TurnEnded
from everyagent.sessions import EventsRequest, Sessions

_SILENT: Final = "The agent ended its turn without a message."
_ANSWERS = ("user.tool_confirmation", "user.custom_tool_result", "user.tool_result")
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_REPORTED = (*_ANSWERS, "agent.thread_message_sent", "session.thread_status_idle", "session.error")
_CHANGES = tuple(
    name for name in TYPE_NUMBERS if name.startswith(("session.thread_", "span.model_request_end", "user."))
)
_NUMBERS = {
    kind: frozenset(TYPE_NUMBERS[name] for name in names)
    for kind, names in (("reported", _REPORTED), ("uses", _USES), ("changes", _CHANGES))
}
#: Events of a page. More are read page by page.
PAGE = 200
_Reported = UserToolConfirmation | UserCustomToolResult | UserToolResult | ThreadMessageSent | ThreadIdle | SessionError
_reported = msgspec.json.Decoder(_Reported)
_uses: "msgspec.json.Decoder[ToolUse | McpToolUse | CustomToolUse]" = msgspec.json.Decoder(
    ToolUse | McpToolUse | CustomToolUse
)


class Rested(NamedTuple):
    """How a thread came to rest. `text` is its reply, or the reason why it has none."""

    replied: bool
    text: str


class Look(NamedTuple):
    """A thread's session at one moment: the report of it, and how it rests, if it does."""

    report: ThreadReport
    rested: Rested | None


class ThreadReader:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._projected = sessions.projected

    async def look(self, of: ThreadOf, projection: ProjectionRecord) -> Look:
        state = state_of(projection)
        thread = subagents_of(await self._projected.log.projection(of.session)).get(of.key)
        reported = await self._since(projection, thread.reported if thread else 0)
        stop, primary = Stop(type="end_turn"), thread_id(of.session)
        answers: list[UserToolConfirmation | UserCustomToolResult | UserToolResult] = []
        reply: list[MessageBlock] = []
        errors: list[str] = []
        for event in reported:
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
            return Look(report, None)
        rested = _rested(report, errors)
        if rested.text == _SILENT and await self._interrupted(projection):
            rested = Rested(replied=False, text="The agent was interrupted.")
        return Look(report, rested)

    async def _interrupted(self, projection: ProjectionRecord) -> bool:
        """Whether the latest turn was."""
        request = EventsRequest(types=("turn.ended",), order="desc", limit=1)
        page = await self._sessions.events(projection.session_id, request)
        return any(
            isinstance(ended, TurnEnded) and ended.stop_reason == "interrupted"
            for ended in (decode_event(body).data for body in page.split())
        )

    async def _since(self, projection: ProjectionRecord, after: int) -> Sequence[_Reported]:
        found: list[_Reported] = []
        query, more = EventQuery(session=0, after=after, limit=PAGE, types=_NUMBERS["reported"]), True
        while more:
            page = await self._projected.event_page(projection.session, query)
            found += [_reported.decode(event.body) for event in page.events if event.sequence <= projection.head]
            more = page.more
            if page.events:
                query = msgspec.structs.replace(query, after=page.events[-1].sequence)
        return found

    async def _asks(self, projection: ProjectionRecord, state: State) -> dict[str, ThreadAsk]:
        """The required actions that the thread shows, with the events that ask for them."""
        wanted: dict[str, Action] = {
            event: action for event, action in state.actions.items() if state.status == "idle" and not action.granted
        }
        uses: dict[str, ToolUse | McpToolUse | CustomToolUse] = {}
        query, more = EventQuery(session=0, limit=PAGE, types=_NUMBERS["uses"], order="desc"), True
        while more and len(uses) < len(wanted):
            page = await self._projected.event_page(projection.session, query)
            uses |= {use.id: use for use in (_uses.decode(event.body) for event in page.events) if use.id in wanted}
            more = page.more
            if page.events:
                query = msgspec.structs.replace(query, after=page.events[-1].sequence)
        return {event: ThreadAsk(action=action, use=uses[event]) for event, action in wanted.items() if event in uses}


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


def changes_state(chunk: EventChunk | None) -> bool:
    """Whether a report of the thread may change by these events. None is a heartbeat."""
    return chunk is not None and any(event.type in _NUMBERS["changes"] for event in chunk.events)
