"""What OpenCode waits for an answer to, in the turn that runs. Remembers what was asked, so that nothing is twice."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.calls import Calls
from everyagent.agents.opencode.policy.modes import Native
from everyagent.agents.opencode.policy.policies import Policies
from everyagent.agents.opencode.protocol.wire import PermissionAsked, QuestionAsked, Replied
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved

#: So many asks are remembered, to know a repetition.
REMEMBERED = 1024


class Allow(Struct, frozen=True):
    """A permission that needs nobody."""

    key: str


class Asking:
    """`open` is what a client may answer. `mode` and the session's policies say what needs none."""

    def __init__(self, calls: Calls, policies: Policies) -> None:
        self.mode = Native(None)
        self.open: dict[str, asks.Kind] = {}
        self._asked: dict[str, None] = {}
        self._calls = calls
        self._policies = policies

    def take(self, key: str) -> asks.Kind | None:
        """It is answered: what it was, if it was open."""
        return self.open.pop(key, None)

    def permission(self, asked: PermissionAsked) -> PermissionRequested | Allow | None:
        if not self._is_new(asked.id):
            return None
        call = self._calls.find(asked.tool)
        if self.mode.accepts(asked.permission) or self._policies.settles(call, asked.permission):
            return Allow(asked.id)
        self.open[asked.id] = "permission"
        return asks.permission(asked, call.tool.name if call else None, call.part.id if call else None)

    def question(self, asked: QuestionAsked) -> QuestionRequested | None:
        if not self._is_new(asked.id):
            return None
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

    def is_live(self, asked: PermissionAsked | QuestionAsked) -> bool:
        """OpenCode lists for ever what was asked in a turn that was aborted: its call is no longer open."""
        return asked.tool is None or self._calls.find(asked.tool) is not None

    def clear(self) -> None:
        """The turn is over."""
        self.open.clear()

    def _is_new(self, key: str) -> bool:
        if key in self._asked:
            return False
        self._asked[key] = None
        if len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return True
