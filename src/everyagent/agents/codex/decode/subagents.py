"""The sub-agents of a session, each with a thread of its own: who made it, what it said last, whether it works."""

from collections.abc import Iterable
from typing import NamedTuple


class Subagent:
    """`call` is the key of the call that made it, on the thread `parent`; `owed`: that has no result yet."""

    __slots__ = ("call", "halting", "owed", "parent", "path", "turn", "words")

    def __init__(self, call: str, parent: str = "", path: str = "", *, owed: bool = False) -> None:
        self.call = call
        self.parent = parent
        self.path = path
        self.owed = owed
        self.words = ""
        self.turn: str | None = None
        self.halting = False


class Running(NamedTuple):
    thread: str
    turn: str


class Returned(NamedTuple):
    """What a call that made a sub-agent comes to."""

    call: str
    words: str


class Subagents:
    def __init__(self) -> None:
        self._by_thread: dict[str, Subagent] = {}

    def adopt(self, call: str, threads: Iterable[str]) -> None:
        for thread in threads:
            self._by_thread.setdefault(thread, Subagent(call))

    def begin(self, thread: str, call: str, parent: str, path: str) -> bool:
        """False if it is known: then its call tells of its end by itself."""
        if thread in self._by_thread:
            return False
        self._by_thread[thread] = Subagent(call, parent, path, owed=True)
        return True

    def call_of(self, thread: str) -> str | None:
        known = self._by_thread.get(thread)
        return known.call if known else None

    def says(self, thread: str, words: str) -> None:
        if known := self._by_thread.get(thread):
            known.words = words

    def returns(self, thread: str) -> Returned | None:
        """Once for each."""
        known = self._by_thread.get(thread)
        if known is None or not known.owed:
            return None
        known.owed = False
        return Returned(known.call, known.words)

    def works(self, thread: str, turn: str) -> None:
        """It has begun a turn."""
        if known := self._by_thread.get(thread):
            known.turn = turn

    def running(self, thread: str) -> Running | None:
        known = self._by_thread.get(thread)
        return Running(thread, known.turn) if known and known.turn else None

    def halt(self, call: str) -> Running | None:
        """The one that a call made, if it works: it shall stop."""
        for thread, known in self._by_thread.items():
            if known.call == call and known.turn:
                known.halting = True
                return Running(thread, known.turn)
        return None

    def rests(self, thread: str) -> Subagent | None:
        """Its turn is over; itself, if it was to stop."""
        known = self._by_thread.get(thread)
        if known is None:
            return None
        known.turn = None
        halted, known.halting = known.halting, False
        return known if halted else None
