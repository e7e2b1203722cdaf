"""Ids of items and asks of a remote agent, derived from the keys that its runner gives them. Pure.

Because they are derived, a daemon that was restarted in the middle of a turn finds the same ids again in its log.
"""

from everyagent.model.ids import derived_id
from everyagent.remote.draft_keys import DraftKeys
from everyagent.remote.drafts import NotAllowed

#: So many ids of a conversation are kept, so that deltas need no hash.
_REMEMBERED = 4096


class DerivedIds(DraftKeys):
    """Replaces the keys in drafts of one conversation by ids. Keys begin with the conversation's epoch and a dot."""

    def __init__(self, session_id: str, epoch: int) -> None:
        self._session_id = session_id
        self._start = f"{epoch}."
        self._items: dict[str, str] = {}

    def _item_key(self, key: str) -> str:
        found = self._items.get(key)
        if found is None:
            found = derived_id("itm_", self._session_id, self._checked(key))
            if len(self._items) >= _REMEMBERED:
                del self._items[next(iter(self._items))]
            self._items[key] = found
        return found

    def _reference(self, key: str) -> str:
        return self._item_key(key)

    def _ask_key(self, prefix: str, key: str, *, asked: bool) -> str:
        return derived_id(prefix, self._session_id, self._checked(key))

    def _checked(self, key: str) -> str:
        if not key.startswith(self._start):
            raise NotAllowed("A key of an item or ask does not belong to its conversation.")
        return key
