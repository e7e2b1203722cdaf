"""Open asks of the turn that runs. Remembers asks, so that none is repeated."""

from collections.abc import Collection, Iterator

from everyagent.agents.memory import remember
from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.calls import OpencodeCalls
from everyagent.agents.opencode.decode.effects import AllowPermission
from everyagent.agents.opencode.policy.modes import OpencodeMode
from everyagent.agents.opencode.policy.policies import SessionPolicies
from everyagent.agents.opencode.protocol.wire import AskSettled, PermissionAsked, QuestionAsked
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved

#: Asks that are remembered, to recognise a repetition.
REMEMBERED = 1024


class OpencodeOpenAsks:
    """`open` are the asks that a client may answer. `mode` and the session's policies answer others at once."""

    def __init__(self, calls: OpencodeCalls, policies: SessionPolicies) -> None:
        self.mode = OpencodeMode(None)
        self.open: dict[str, asks.AskKind] = {}
        self._asked: dict[str, None] = {}
        self._calls = calls
        self._policies = policies

    def take(self, key: str) -> asks.AskKind | None:
        """The ask is answered: what it was, if it was open."""
        return self.open.pop(key, None)

    def permission(self, asked: PermissionAsked) -> PermissionRequested | AllowPermission | None:
        if not self._is_new(asked.id):
            return None
        call = self._calls.find(asked.tool)
        if self.mode.accepts(asked.permission) or self._policies.settles(call, asked.permission):
            return AllowPermission(asked.id)
        self.open[asked.id] = "permission"
        return asks.permission(asked, call)

    def is_early(self, asked: PermissionAsked) -> bool:
        """A client is to be asked, and the input of the call has not arrived: OpenCode sends the two independently."""
        if asked.tool is None or self.mode.accepts(asked.permission):
            return False
        call = self._calls.find(asked.tool)
        return call is None or not call.asked

    def question(self, asked: QuestionAsked) -> QuestionRequested | None:
        if not self._is_new(asked.id):
            return None
        self.open[asked.id] = "question"
        call = self._calls.find(asked.tool)
        return asks.question(asked, call.part.id if call else None)

    def replied(self, replied: AskSettled) -> PermissionResolved | QuestionResolved | None:
        """OpenCode also sends this after our own answer; the ask is then no longer open."""
        kind = self.take(replied.request)
        return asks.settled(kind, replied) if kind else None

    def withdraw(self, waiting: Collection[str]) -> Iterator[PermissionResolved | QuestionResolved]:
        """OpenCode waits for these asks only."""
        for key in [key for key in self.open if key not in waiting]:
            yield asks.withdrawn(self.open.pop(key), key)

    def is_live(self, asked: PermissionAsked | QuestionAsked) -> bool:
        """OpenCode keeps listing the asks of an aborted turn; their calls are no longer open."""
        return asked.tool is None or self._calls.find(asked.tool) is not None

    def clear(self) -> None:
        """The turn is over."""
        self.open.clear()

    def _is_new(self, key: str) -> bool:
        if key in self._asked:
            return False
        remember(self._asked, key, None, REMEMBERED)
        return True
