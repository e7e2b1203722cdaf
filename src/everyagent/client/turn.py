"""Selects the events of one turn from a session's stream, and summarizes them."""

from typing import TypeAlias

from msgspec import Struct

from everyagent.client.event_codec import AnyEvent
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import (
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    SessionEnded,
    StopReason,
    ToolRequested,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item, text_of
from everyagent.model.usage import Usage

Ask: TypeAlias = PermissionRequested | QuestionRequested | ToolRequested
Answer: TypeAlias = PermissionAnswer | QuestionAnswer | ToolAnswer


class Turn(Struct, frozen=True, kw_only=True):
    """The result of a message. `text` is the agent's last message; `items` are all items in order of completion."""

    session_id: str
    turn_id: str
    stop_reason: StopReason
    text: str
    items: list[Item]
    usage: Usage | None = None
    cost_usd: float | None = None
    error: str | None = None


class TurnSelection:
    """Selects the events of the turn that a message started, from `turn.started` to `turn.ended`.

    Turns of a session never overlap, so every event between the two belongs to the turn.
    """

    def __init__(self, item_id: str) -> None:
        self.done = False
        self._item_id = item_id
        self._inside = False

    def take(self, event: AnyEvent) -> bool:
        match event.data:
            case TurnStarted() as started if self._item_id in started.input_item_ids:
                self._inside = True
            case TurnEnded() if self._inside:
                self.done = True
            case SessionEnded():
                self.done = True
                return True
            case _:
                pass
        return self._inside


class TurnSummary:
    """Collects the result of a turn from its events."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._items: list[Item] = []
        self._ended: TurnEnded | None = None

    def add(self, event: AnyEvent) -> None:
        match event.data:
            case ItemCompleted() as completed:
                self._items.append(completed.item)
            case TurnEnded() as ended:
                self._ended = ended
            case _:
                pass

    def turn(self) -> Turn:
        """The result, also if the session ended before the turn."""
        ended = self._ended or TurnEnded(turn_id="", stop_reason="terminated")
        messages = [item for item in self._items if item.kind == "message" and item.role == "assistant"]
        return Turn(
            session_id=self._session_id,
            turn_id=ended.turn_id,
            stop_reason=ended.stop_reason,
            text=text_of(messages[-1]) if messages else "",
            items=self._items,
            usage=ended.usage,
            cost_usd=ended.cost_usd,
            error=ended.error,
        )


class SpokenText:
    """Selects the text that an agent writes for its user."""

    def __init__(self) -> None:
        self._subagents: set[str] = set()

    def text(self, event: AnyEvent) -> str:
        match event.data:
            case ItemStarted(item=item) if item.subagent:
                self._subagents.add(item.item_id)
            case ItemDelta(kind="text", role="assistant") as delta if delta.item_id not in self._subagents:
                return delta.delta
            case _:
                pass
        return ""


def ask_in(event: AnyEvent) -> tuple[str, Ask] | None:
    """The ask in this event, with its id."""
    match event.data:
        case PermissionRequested() as ask:
            return ask.permission_id, ask
        case QuestionRequested() as ask:
            return ask.question_id, ask
        case ToolRequested() as ask:
            return ask.tool_id, ask
        case _:
            return None
