"""Ids of items and asks of a remote agent, derived from the keys that its runner gives them. Pure.

Because they are derived, a daemon that was restarted in the middle of a turn finds the same ids again in its log.
"""

import hashlib
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
    Questions,
)
from everyagent.model.ids import base32
from everyagent.model.items import Item
from everyagent.remote.drafts import NotAllowed

#: So many ids of a conversation are kept, so that deltas need no hash.
_REMEMBERED = 4096


def derived_id(prefix: str, session_id: str, key: str) -> str:
    digest = hashlib.blake2b(f"{session_id}\n{key}".encode(), digest_size=16).digest()
    return prefix + base32(int.from_bytes(digest), 26)


class DerivedIds:
    """Replaces the keys in drafts of one conversation by ids. Keys begin with the conversation's epoch and a dot."""

    def __init__(self, session_id: str, epoch: int) -> None:
        self._session_id = session_id
        self._start = f"{epoch}."
        self._items: dict[str, str] = {}

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
                return replace(data, item_id=self._id(data.item_id))
            case ItemStarted():
                return ItemStarted(item=self._item(data.item))
            case ItemCompleted():
                return ItemCompleted(item=self._item(data.item))
            case ModelResponded() | Error():
                return replace(data, subagent=self._known(data.subagent)) if data.subagent else data
            case Permission():
                ask_id = self._ask("perm_", data.permission_id)
                return replace(data, permission_id=ask_id, item_id=self._known(data.item_id))
            case Questions():
                ask_id = self._ask("ques_", data.question_id)
                return replace(data, question_id=ask_id, item_id=self._known(data.item_id))
            case _:
                return data

    def _item(self, item: Item) -> Item:
        return replace(
            item,
            item_id=self._id(item.item_id),
            parent_id=self._known(item.parent_id),
            subagent=self._known(item.subagent),
        )

    def _known(self, key: str | None) -> str | None:
        return self._id(key) if key else None

    def _id(self, key: str) -> str:
        found = self._items.get(key)
        if found is None:
            found = derived_id("itm_", self._session_id, self._checked(key))
            if len(self._items) >= _REMEMBERED:
                del self._items[next(iter(self._items))]
            self._items[key] = found
        return found

    def _ask(self, prefix: str, key: str) -> str:
        return derived_id(prefix, self._session_id, self._checked(key))

    def _checked(self, key: str) -> str:
        if not key.startswith(self._start):
            raise NotAllowed("A key of an item or ask does not belong to its conversation.")
        return key
