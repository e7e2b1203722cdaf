"""Order rule f: asks are answered once."""

from collections.abc import Iterator
from typing import ClassVar

from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
)
from everyagent.testing.rules.rule import AnyEvent


class RuleF:
    """Every `*.requested` gets exactly one `*.resolved`, at the latest when its turn ends.

    Asks that outlive their turn are named by its `turn.ended`, and are resolved before the next turn.
    """

    name: ClassVar[str] = "f"

    def __init__(self) -> None:
        self._pending: set[str] = set()
        self._resolved: set[str] = set()
        self._parked: set[str] = set()

    def see(self, event: AnyEvent) -> Iterator[str]:
        match event.data:
            case (
                PermissionRequested(permission_id=ask_id, status=status)
                | QuestionRequested(question_id=ask_id, status=status)
                | ToolRequested(tool_id=ask_id, status=status)
            ):
                yield from self._request(ask_id, status)
            case (
                PermissionResolved(permission_id=ask_id, status=status)
                | QuestionResolved(question_id=ask_id, status=status)
                | ToolResolved(tool_id=ask_id, status=status)
            ):
                yield from self._resolve(ask_id, status)
            case TurnEnded(pending_asks=parked):
                for ask_id in sorted(set(parked) - self._pending):
                    yield f"turn.ended names {ask_id}, which is not open"
                self._pending -= set(parked)
                yield from self.end()
                self._parked = set(parked)
            case TurnStarted(turn_id=turn):
                for ask_id in sorted(self._parked):
                    yield f"turn {turn} starts while ask {ask_id} is open"
                self._parked.clear()
            case SessionEnded():
                self._pending |= self._parked
                yield from self.end()
            case _:
                pass

    def _request(self, ask_id: str, status: str) -> Iterator[str]:
        if ask_id in self._pending or ask_id in self._resolved:
            yield f"ask {ask_id} is requested twice"
        if status != "requested":
            yield f"ask {ask_id} is requested but {status}"
        self._pending.add(ask_id)

    def _resolve(self, ask_id: str, status: str) -> Iterator[str]:
        if ask_id in self._resolved:
            yield f"ask {ask_id} is resolved twice"
        elif ask_id not in self._pending | self._parked:
            yield f"ask {ask_id} is resolved but was never requested"
        if status == "requested":
            yield f"ask {ask_id} is resolved but still requested"
        self._pending.discard(ask_id)
        self._parked.discard(ask_id)
        self._resolved.add(ask_id)

    def end(self) -> Iterator[str]:
        for ask_id in sorted(self._pending):
            yield f"ask {ask_id} was left pending"
        self._resolved |= self._pending
        self._pending.clear()
