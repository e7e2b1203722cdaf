"""Items of types that an adapter does not know, in frames that it can read. Pure."""

from typing import cast

import msgspec

from everyagent.model.items import Item
from everyagent.model.parts import Json, JsonPart


def unknown_item(
    key: str, type: str, json: Json, *, native: str | None, subagent: str | None, parent: str | None = None
) -> Item:
    """A complete item, named by its native type, with everything that the agent sent of it."""
    return Item(
        item_id=key,
        native_item_id=native,
        parent_id=parent,
        kind="unknown",
        role=None,
        status="completed",
        content=[JsonPart(json=json)],
        subagent=subagent,
        name=type,
    )


def value_at(body: bytes, *path: str | int) -> Json:
    """The value at a path of JSON that has this path."""
    value: object = msgspec.json.decode(body)
    for step in path:
        value = cast("dict[str | int, object]", value)[step]
    return cast("Json", value)
