"""Makes the keys of items and asks unique over all turns and conversations of a session, and finds them again.

An adapter's keys are unique in a turn only. The session's own rules are in `sessions/machine/sequencer.py`.
"""

from everyagent.model.events import EventData, ItemCompleted, ItemDelta, ItemStarted, TurnEnded, TurnStarted
from everyagent.model.ids import derived_id
from everyagent.remote.draft_keys import DraftKeys

#: So many items are remembered, for drafts and commands that refer back to them.
_REMEMBERED = 4096


class ScopedKeys(DraftKeys):
    """`busy`: a turn has begun and not ended."""

    def __init__(self, session_id: str, epoch: int) -> None:
        self.busy = False
        self._session_id = session_id
        self._epoch = epoch
        self._turn = 0
        self._asked = 0
        self._items: dict[str, str] = {}
        self._earlier: dict[str, str] = {}
        self._open: set[str] = set()
        self._natives: dict[str, str] = {}
        self._asks: dict[str, str] = {}

    def begin_turn(self) -> None:
        """A prompt was given, or the agent began a turn by itself. Items that are open keep their keys."""
        self.busy = True
        self._turn += 1
        self._earlier.update(self._items)
        self._items = {key: self._items[key] for key in self._open}
        _trim(self._earlier)

    def native_item(self, item_id: str) -> str | None:
        """The adapter's key for an item, by the id that the daemon has given it."""
        return self._natives.get(item_id)

    def native_ask(self, ask_id: str) -> str | None:
        """The adapter's key for an open ask, which is answered now."""
        for native, scoped in self._asks.items():
            if ask_id in self._ask_ids(scoped):
                del self._asks[native]
                return native
        return None

    def open_asks(self) -> list[str]:
        """Both ids that each open ask may have."""
        return [ask_id for scoped in self._asks.values() for ask_id in self._ask_ids(scoped)]

    def _ask_ids(self, scoped: str) -> tuple[str, str]:
        return derived_id("perm_", self._session_id, scoped), derived_id("ques_", self._session_id, scoped)

    def _data(self, data: EventData) -> EventData:
        match data:
            case ItemDelta():
                self._open.add(data.item_id)
            case ItemStarted():
                self._open.add(data.item.item_id)
            case ItemCompleted():
                self._open.discard(data.item.item_id)
            case TurnStarted() if not self.busy:
                self.begin_turn()
            case TurnEnded():
                self.busy = False
                self._open.clear()
                self._asks.clear()
            case _:
                pass
        return super()._data(data)

    def _item_key(self, key: str) -> str:
        scoped = self._items.get(key)
        if scoped is None:
            scoped = self._items[key] = f"{self._epoch}.{self._turn}.{key}"
            self._natives[derived_id("itm_", self._session_id, scoped)] = key
            _trim(self._items)
            _trim(self._natives)
        return scoped

    def _reference(self, key: str) -> str:
        return self._items.get(key) or self._earlier.get(key) or self._item_key(key)

    def _ask_key(self, prefix: str, key: str, *, asked: bool) -> str:
        scoped = self._asks.get(key)
        if scoped is None:
            self._asked += 1
            scoped = f"{self._epoch}.ask{self._asked}.{key}"
            if asked:
                self._asks[key] = scoped
        elif not asked:
            del self._asks[key]
        return scoped


def _trim(memory: dict[str, str]) -> None:
    while len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]
