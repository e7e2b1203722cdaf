"""The text of an item for full-text search, as words: a call's arguments without the marks of JSON. Pure."""

from typing import cast

import msgspec

from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

#: So much of an item's text is indexed.
SEARCHABLE_CHARS = 32 * 1024
#: Longer arguments are searchable as they are.
_MOST_PARSED = 1 << 20
_JSON = msgspec.json.Decoder(object)


def searchable(item: Item) -> str | None:
    words: list[str] = []
    for part in item.content:
        match part:
            case TextPart() | ReasoningPart():
                words.append(part.text)
            case ToolCallPart():
                words.append(f"{part.name} {_values(part.arguments)}")
            case ToolResultPart():
                words.append(part.output)
            case FileRefPart():
                words.append(f"{part.path} {part.diff or ''}")
            case _:
                continue
    return "\n".join(words)[:SEARCHABLE_CHARS] or None


def _values(arguments: str) -> str:
    """The values in JSON text, in order. Text that is no JSON stays as it is."""
    if len(arguments) > _MOST_PARSED:
        return arguments
    try:
        left: list[object] = [_JSON.decode(arguments)]
    except (msgspec.DecodeError, RecursionError):
        return arguments
    values: list[str] = []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += reversed(cast("dict[str, object]", value).values())
        elif isinstance(value, list):
            left += reversed(cast("list[object]", value))
        elif value is not None and not isinstance(value, bool):
            values.append(str(value))
    return " ".join(values)
