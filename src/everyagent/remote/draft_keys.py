"""Replaces the keys of items and asks in an agent's drafts. Pure; the subclasses say by what."""

from abc import ABC, abstractmethod
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
)
from everyagent.model.items import Item


class DraftKeys(ABC):
    def applied_to(self, batch: Sequence[DecodedFrame]) -> list[DecodedFrame]:
        return [DecodedFrame(each.frame, [self._draft(draft) for draft in each.drafts]) for each in batch]

    @abstractmethod
    def _item_key(self, key: str) -> str: ...

    @abstractmethod
    def _reference(self, key: str) -> str:
        """For the key of an item that a draft refers to."""

    @abstractmethod
    def _ask_key(self, prefix: str, key: str, *, asked: bool) -> str:
        """`prefix` is that of the ask's ids; `asked` is False if the ask is resolved."""

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
                return replace(data, item_id=self._item_key(data.item_id))
            case ItemStarted():
                return ItemStarted(item=self._item(data.item))
            case ItemCompleted():
                return ItemCompleted(item=self._item(data.item))
            case ModelResponded() | Error():
                return replace(data, subagent=self._known(data.subagent)) if data.subagent else data
            case Permission():
                key = self._ask_key("perm_", data.permission_id, asked=isinstance(data, PermissionRequested))
                return replace(data, permission_id=key, item_id=self._known(data.item_id))
            case Questions():
                key = self._ask_key("ques_", data.question_id, asked=isinstance(data, QuestionRequested))
                return replace(data, question_id=key, item_id=self._known(data.item_id))
            case _:
                return data

    def _item(self, item: Item) -> Item:
        return replace(
            item,
            item_id=self._item_key(item.item_id),
            parent_id=self._known(item.parent_id),
            subagent=self._known(item.subagent),
        )

    def _known(self, key: str | None) -> str | None:
        return self._reference(key) if key else None
