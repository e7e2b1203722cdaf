"""Makes the keys of items and asks unique over all turns and conversations of a session, and finds them again.

An adapter's keys are unique in a turn only. The session's own rules are in `sessions/machine/sequencer.py`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from everyagent.agents.adapter import DecodedFrame, Draft, Echo, NativeSession, Synthetic
from everyagent.model.events import (
    Error,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    Permission,
    PermissionRequested,
    QuestionRequested,
    Questions,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.remote.item_ids import derived_id

#: So many items are remembered, for drafts and commands that refer back to them.
_REMEMBERED = 4096


class ScopedKeys:
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

    def applied_to(self, batch: Sequence[DecodedFrame]) -> list[DecodedFrame]:
        return [DecodedFrame(each.frame, [self._draft(draft) for draft in each.drafts]) for each in batch]

    def _draft(self, draft: Draft) -> Draft:
        match draft:
            case NativeSession() | Echo():
                return draft
            case Synthetic():
                return Synthetic(self._data(draft.data))
            case _:
                return self._data(draft)

    def _data(self, data: EventData) -> EventData:
        match data:
            case ItemDelta():
                self._open.add(data.item_id)
                return replace(data, item_id=self._item_key(data.item_id))
            case ItemStarted():
                self._open.add(data.item.item_id)
                return ItemStarted(item=self._item(data.item))
            case ItemCompleted():
                self._open.discard(data.item.item_id)
                return ItemCompleted(item=self._item(data.item))
            case ModelResponded() | Error():
                return replace(data, subagent=self._reference(data.subagent)) if data.subagent else data
            case Permission():
                key = self._ask_key(data.permission_id, asked=isinstance(data, PermissionRequested))
                return replace(data, permission_id=key, item_id=self._reference(data.item_id))
            case Questions():
                key = self._ask_key(data.question_id, asked=isinstance(data, QuestionRequested))
                return replace(data, question_id=key, item_id=self._reference(data.item_id))
            case TurnStarted() if not self.busy:
                self.begin_turn()
                return data
            case TurnEnded():
                self.busy = False
                self._open.clear()
                self._asks.clear()
                return data
            case _:
                return data

    def _item(self, item: Item) -> Item:
        return replace(
            item,
            item_id=self._item_key(item.item_id),
            parent_id=self._reference(item.parent_id),
            subagent=self._reference(item.subagent),
        )

    def _item_key(self, native: str) -> str:
        key = self._items.get(native)
        if key is None:
            key = self._items[native] = f"{self._epoch}.{self._turn}.{native}"
            self._natives[derived_id("itm_", self._session_id, key)] = native
            _trim(self._items)
            _trim(self._natives)
        return key

    def _reference(self, native: str | None) -> str | None:
        return (self._items.get(native) or self._earlier.get(native) or self._item_key(native)) if native else None

    def _ask_key(self, native: str, *, asked: bool) -> str:
        key = self._asks.get(native)
        if key is None:
            self._asked += 1
            key = f"{self._epoch}.ask{self._asked}.{native}"
            if asked:
                self._asks[native] = key
        elif not asked:
            del self._asks[native]
        return key


def _trim(memory: dict[str, str]) -> None:
    while len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]
