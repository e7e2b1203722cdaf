"""Unique keys for items whose native ids may repeat. Used by decoders.

A model's API may number its messages and calls from 1 in each turn, or in each request. The session identifies items
by their keys alone, so a second item under the same key would be taken for the first.
"""

from typing import NamedTuple

from everyagent.agents.memory import remember

#: So many native ids are remembered; of more, the oldest are forgotten.
REMEMBERED = 4096


class _Key(NamedTuple):
    key: str
    turn: int


class ItemKeys:
    """A native id is its own key the first time; later items of the same id get another one."""

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}
        self._turn = 0
        self._repeats = 0

    def end_turn(self) -> None:
        """From now on, ids that were used before name new items."""
        self._turn += 1

    def begin(self, native: str) -> str:
        """A new key for an item that begins now, even if its native id was used before."""
        key = native
        if self._keys.pop(native, None):
            self._repeats += 1
            key = f"{native} #{self._repeats}"
        remember(self._keys, native, _Key(key, self._turn), REMEMBERED)
        return key

    def of(self, native: str) -> str:
        """The key of this turn's item with that id; a new one if the turn has none yet."""
        known = self._keys.get(native)
        return known.key if known and known.turn == self._turn else self.begin(native)

    def latest(self, native: str) -> str:
        """The key of the last item with that id, of any turn: a sub-agent may outlive the turn that started it."""
        known = self._keys.get(native)
        return known.key if known else native
