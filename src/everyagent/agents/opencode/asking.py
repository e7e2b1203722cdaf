"""What OpenCode waits for an answer to, in the turn that runs. Remembers what was asked, so that nothing is twice."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from everyagent.agents.opencode import asks
from everyagent.agents.opencode.calls import Calls
from everyagent.agents.opencode.modes import Native
from everyagent.agents.opencode.wire import PermissionAsked, QuestionAsked, Replied
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved


class Allow(Struct, frozen=True):
    """A permission that needs nobody."""

    key: str


class Asking:
    """`open` is what a client may answer. `mode` says what needs none."""

    def __init__(self, calls: Calls) -> None:
        self.mode = Native(None)
        self.open: dict[str, asks.Kind] = {}
        self._asked: set[str] = set()
        self._calls = calls

    def take(self, key: str) -> asks.Kind | None:
        """It is answered: what it was, if it was open."""
        return self.open.pop(key, None)

    def permission(self, asked: PermissionAsked) -> PermissionRequested | Allow | None:
        if asked.id in self._asked:
            return None
        self._asked.add(asked.id)
        if self.mode.accepts(asked.permission):
            return Allow(asked.id)
        self.open[asked.id] = "permission"
        call = self._calls.find(asked.tool)
        return asks.permission(asked, call.tool.name if call else None, call.part.id if call else None)

    def question(self, asked: QuestionAsked) -> QuestionRequested | None:
        if asked.id in self._asked:
            return None
        self._asked.add(asked.id)
        self.open[asked.id] = "question"
        call = self._calls.find(asked.tool)
        return asks.question(asked, call.part.id if call else None)

    def replied(self, replied: Replied) -> PermissionResolved | QuestionResolved | None:
        """Also told of what we have answered; then it is no longer open."""
        kind = self.take(replied.request)
        return asks.settled(kind, replied) if kind else None

    def withdraw(self, waiting: Collection[str]) -> Iterator[PermissionResolved | QuestionResolved]:
        """OpenCode waits for these alone."""
        for key in [key for key in self.open if key not in waiting]:
            yield asks.withdrawn(self.open.pop(key), key)

    def clear(self) -> None:
        """The turn is over."""
        self.open.clear()
        self._asked.clear()
