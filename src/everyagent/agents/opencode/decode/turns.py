"""State of a turn of OpenCode: whether it is over, and why. Pure.

OpenCode reports `idle` twice when a turn fails or is stopped: first before it has ended the model's message.
"""

from msgspec import Struct

from everyagent.agents.opencode.decode import failures
from everyagent.agents.opencode.protocol.wire import (
    Delivered,
    OpencodeFailure,
    OpencodeMessage,
    PermissionAsked,
    QuestionAsked,
)
from everyagent.model.events import StopReason

_FINISHES: dict[str, StopReason] = {"length": "max_tokens", "content-filter": "refusal"}
_WHOLE = frozenset({"stop", "length", "content-filter"})


class Snapshot(Struct, frozen=True):
    """The state of a turn and its sub-agents, fetched after events may have been missed. `cut`: it is incomplete."""

    messages: list[Delivered]
    permissions: list[PermissionAsked]
    questions: list[QuestionAsked]
    busy: bool
    cut: bool = False


class OpencodeTurn:
    """`busy`: OpenCode has begun it. `answered`: the model has begun to respond. `gap`: events were missed.

    `since` is when it began, in milliseconds since 1970.
    """

    def __init__(self, since: float = 0) -> None:
        self.since = since
        self.busy = False
        self.answered = False
        self.interrupted = False
        self.gap = False
        self.gave_up: str | None = None
        self._finish: str | None = None
        self._failure: OpencodeFailure | None = None

    @property
    def begun(self) -> bool:
        return self.busy or self.answered

    @property
    def settled(self) -> bool:
        """An `idle` now ends this turn."""
        return self.answered or (self.busy and (self._failure is not None or self.interrupted))

    def failed(self, failure: OpencodeFailure) -> None:
        self._failure = failure

    def responded(self, message: OpencodeMessage, *, new: bool) -> None:
        """A new message of the model cancels an earlier failure."""
        if new:
            self._failure = None
        self.answered = True
        self._finish = message.finish
        if message.error:
            self._failure = message.error

    def end(self) -> tuple[StopReason, str | None]:
        """The stop reason and the error of the turn."""
        if self.gave_up:
            return "error", self.gave_up
        failure = self._failure
        if failure and failure.name != failures.ABORTED:
            return failures.stop_reason(failure), failures.message(failure)
        if failure or (self.interrupted and self._finish not in _WHOLE):
            return "interrupted", None
        return _FINISHES.get(self._finish or "", "end_turn"), None
