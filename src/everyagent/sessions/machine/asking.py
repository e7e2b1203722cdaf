"""Asks of the daemon itself, for the session's custom tools, and answers that come before their ask. Pure."""

from everyagent.model.events import (
    ItemCompleted,
    PermissionRequested,
    QuestionRequested,
    ToolRequested,
    ToolResolved,
)
from everyagent.model.parts import ToolCallPart, ToolResultPart
from everyagent.sessions.machine import answering
from everyagent.sessions.machine.announced import AnnouncedCalls
from everyagent.sessions.machine.asks import ask_id_of
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.sequencer import Emission, Emissions
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.statuses import settle

_NOT_MADE = "The agent ended this call by itself."


def ask_client(state: SessionState, request: PermissionRequested | ToolRequested, decision: Decision) -> None:
    """The agent called a custom tool: for a permission, or for its result."""
    if not state.turn:
        return
    announced = state.turn.announced
    decision.note({"ask": request}, "from_agent")
    call = announced.make(request) if isinstance(request, ToolRequested) else None
    announced.open()
    _ask_unasked(state, announced, decision)
    if call and not call.ask_id:
        call.ask_id = _ask(state, call.request(), decision, synthetic=False)
    ask_id = call.ask_id if call else _ask(state, request, decision, synthetic=False)
    if ask_id and not answering.grant_own(state, request, ask_id, decision):
        decision.ask_id = ask_id
    settle(state, decision)


def follow(state: SessionState, announced: AnnouncedCalls, emissions: Emissions, decision: Decision) -> None:
    """Asks for calls that the agent's events announce, and closes the asks of those that got their result otherwise."""
    for emission in emissions:
        match emission.data:
            case ItemCompleted(item=item):
                for part in item.content:
                    if isinstance(part, ToolCallPart):
                        announced.add(item, part)
                    elif isinstance(part, ToolResultPart):
                        _close(state, announced.end(part.call_id, state.sequencer.asks.ids()), decision)
            case PermissionRequested() | QuestionRequested():
                announced.open()
            case _:
                continue
    _ask_unasked(state, announced, decision)


def answer_early(state: SessionState, decision: Decision) -> None:
    """Gives the agent answers that came before it asked."""
    asks = state.sequencer.asks
    for ask_id in asks.ids():
        pending = asks.pending(ask_id)
        if pending and isinstance(pending.request, PermissionRequested):
            early = state.early.get(pending.request.item_id or "")
            if early:
                state.early = {item: answer for item, answer in state.early.items() if item != pending.request.item_id}
                decision.note({"cause": "answered_before"})
                answering.answer(state, [(asks.resolve(ask_id, early), early)], decision)


def _ask_unasked(state: SessionState, announced: AnnouncedCalls, decision: Decision) -> None:
    for call in announced.unasked():
        call.ask_id = _ask(state, call.request(), decision, synthetic=not call.made)


def _ask(
    state: SessionState, request: PermissionRequested | ToolRequested, decision: Decision, *, synthetic: bool
) -> str | None:
    emissions = state.sequencer.apply(request, synthetic=synthetic)
    decision.transaction.emit(emissions)
    opened = (each.data for each in emissions)
    return next((ask_id_of(data) for data in opened if isinstance(data, type(request))), None)


def _close(state: SessionState, key: str | None, decision: Decision) -> None:
    if key:
        ended = ToolResolved(tool_id=key, name="", input=None, status="failed", message=_NOT_MADE)
        resolution = state.sequencer.asks.resolved_by_agent(ended)
        decision.transaction.emit([Emission(resolution, True)] if resolution else [])
