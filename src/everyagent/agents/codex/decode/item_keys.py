"""Keys of a session's items, unique although a model's API may use an item id again in a later turn. Pure."""

from everyagent.agents.memory import remember

#: Ids of earlier turns that are remembered, to recognise one that is used again.
REMEMBERED = 16_384


class ThreadItemKeys:
    """The key of an item is its native id, with the thread's id in front in other threads than `main`."""

    def __init__(self) -> None:
        self.main: str | None = None
        self._current: dict[str, dict[str, str]] = {}  # thread -> native id -> key, in the turn that runs
        self._completed: set[str] = set()  # keys of the turns that run
        self._used: dict[str, None] = {}  # keys of turns that are over
        self._repeats = 0

    def key(self, thread: str, id: str) -> str:
        """The key of an item that has begun."""
        current = self._current.get(thread)
        known = current.get(id) if current else None
        if known is not None:
            return known
        plain = self.plain(thread, id)
        if plain not in self._used:
            self._current.setdefault(thread, {})[id] = plain
        return plain

    def find(self, thread: str, id: str) -> str:
        """The key of an item, without recording one if it has not begun."""
        return self._current.get(thread, {}).get(id) or self.plain(thread, id)

    def begin(self, thread: str, id: str) -> str:
        """The key of an item that starts: a new one, if an earlier item with this id is over."""
        key = self.key(thread, id)
        if key in self._completed or self.is_late(thread, id):
            self._repeats += 1
            key = self._current.setdefault(thread, {})[id] = f"{self.plain(thread, id)} repeat {self._repeats}"
        return key

    def complete(self, key: str) -> None:
        self._completed.add(key)

    def is_late(self, thread: str, id: str) -> bool:
        """The id is of an earlier turn, and has not begun again in this one."""
        return id not in self._current.get(thread, ()) and self.plain(thread, id) in self._used

    def turn_over(self, thread: str) -> None:
        for id, key in self._current.pop(thread, {}).items():
            self._completed.discard(key)
            remember(self._used, self.plain(thread, id), None, REMEMBERED)

    def plain(self, thread: str, id: str) -> str:
        return id if thread == self.main else f"{thread} {id}"
