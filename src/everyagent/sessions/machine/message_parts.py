"""Splits messages into reasoning and text: reasoning is an item of its own on every agent. Pure."""

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from msgspec.structs import replace

from everyagent.model.events import DeltaKind
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, ReasoningPart

#: The name of items that are reasoning.
REASONING = "reasoning"


class Streamed(Protocol):
    """An open message: the number of its runs before this one, and the kind of its deltas."""

    before: int
    delta_kind: DeltaKind | None


def name_of(delta_kind: DeltaKind) -> str | None:
    return REASONING if delta_kind == "reasoning" else None


def pieces(item: Item, streamed: Streamed | None) -> list[Item]:
    """The items that complete an item, given what is open of it. All but the last are complete and without error.

    Reasoning that the agent adds in front of text that it has streamed already gets a key of its own.
    """
    if item.kind != "message" or item.role != "assistant":
        return [item]
    before, delta_kind = (streamed.before, streamed.delta_kind) if streamed else (0, None)
    left = _runs(item.content)[before:]
    late: list[Item] = []
    if delta_kind and left and _kind_of(left[0]) != delta_kind:
        if delta_kind == "text":
            late = [replace(_piece(item, left.pop(0)), item_id=f"reasoning of {item.item_id}")]
        else:  # The agent left out what it had streamed.
            left.insert(0, [])
    *earlier, last = left or [[]]
    end = replace(_piece(item, last), status=item.status, error=item.error)
    return [*late, *(_piece(item, run) for run in earlier), end]


def _piece(message: Item, run: list[ContentPart]) -> Item:
    name = message.name or name_of(_kind_of(run))
    return replace(message, content=run, name=name, status="completed", error=None)


def _runs(content: Sequence[ContentPart]) -> list[list[ContentPart]]:
    """The parts in order, those of reasoning apart from others."""
    return [list(run) for _, run in groupby(content, key=lambda part: isinstance(part, ReasoningPart))]


def _kind_of(run: Sequence[ContentPart]) -> DeltaKind:
    return "reasoning" if run and isinstance(run[0], ReasoningPart) else "text"
