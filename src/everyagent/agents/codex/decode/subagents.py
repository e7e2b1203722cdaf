"""State of a session's sub-agents, each with a separate thread: the call that made it, its last message, its turn."""

from collections.abc import Iterable
from typing import NamedTuple

from everyagent.agents.memory import remember

#: Sub-agents of one session that are remembered.
REMEMBERED = 4096


class Subagent:
    """`call` is the key of the call that made it, on the thread `parent`, and `native` the id of that call there.

    `owed`: the call has no result yet.
    """

    __slots__ = ("call", "halting", "native", "owed", "parent", "path", "text", "turn")

    def __init__(self, call: str, native: str = "", parent: str = "", path: str = "", *, owed: bool = False) -> None:
        self.call = call
        self.native = native
        self.parent = parent
        self.path = path
        self.owed = owed
        self.text = ""
        self.turn: str | None = None
        self.halting = False


class SubagentTurn(NamedTuple):
    thread: str
    turn: str


class SubagentResult(NamedTuple):
    """The result of the call that made a sub-agent; `native` is that call's native id."""

    call: str
    native: str
    text: str


class Subagents:
    def __init__(self) -> None:
        self._by_thread: dict[str, Subagent] = {}

    def adopt(self, call: str, threads: Iterable[str]) -> None:
        for thread in threads:
            if thread not in self._by_thread:
                remember(self._by_thread, thread, Subagent(call), REMEMBERED)

    def begin(self, thread: str, call: str, native: str, parent: str, path: str) -> bool:
        """False if it is known: then the call that made it reports its end."""
        if thread in self._by_thread:
            return False
        remember(self._by_thread, thread, Subagent(call, native, parent, path, owed=True), REMEMBERED)
        return True

    def call_of(self, thread: str) -> str | None:
        known = self._by_thread.get(thread)
        return known.call if known else None

    def message(self, thread: str, text: str) -> None:
        if known := self._by_thread.get(thread):
            known.text = text

    def returns(self, thread: str) -> SubagentResult | None:
        """Once for each."""
        known = self._by_thread.get(thread)
        if known is None or not known.owed:
            return None
        known.owed = False
        return SubagentResult(known.call, known.native, known.text)

    def turn_started(self, thread: str, turn: str) -> None:
        """The sub-agent's turn has begun."""
        if known := self._by_thread.get(thread):
            known.turn = turn

    def running(self, thread: str) -> SubagentTurn | None:
        known = self._by_thread.get(thread)
        return SubagentTurn(thread, known.turn) if known and known.turn else None

    def halt(self, call: str) -> SubagentTurn | None:
        """The running turn of the sub-agent that a call made; it is to be stopped."""
        for thread, known in self._by_thread.items():
            if known.call == call and known.turn:
                known.halting = True
                return SubagentTurn(thread, known.turn)
        return None

    def turn_ended(self, thread: str) -> Subagent | None:
        """The sub-agent's turn is over. Returns the turn if we stopped it."""
        known = self._by_thread.get(thread)
        if known is None:
            return None
        known.turn = None
        halted, known.halting = known.halting, False
        return known if halted else None
