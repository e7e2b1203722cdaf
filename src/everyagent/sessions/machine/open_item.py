"""An item that has started and not yet completed, with the text of its deltas so far."""

from collections.abc import Iterator
from typing import assert_never

from msgspec.structs import replace

from everyagent.model.events import DeltaKind, ItemDelta
from everyagent.model.ids import derived_id
from everyagent.model.items import Item, reasoning_of, text_of
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from everyagent.sessions.machine import message_parts


class OpenItem:
    """`delta_kind` is the kind of its latest delta.

    A message of reasoning and text goes on as another item: `before` is the number of its items before this one, `root`
    is the id of the first of them, and `shift` is the index of this item's first part in the agent's message.
    """

    __slots__ = ("_grown", "_last", "before", "chars", "delta_kind", "item", "root", "shift")

    def __init__(self, item: Item, *, root: str | None = None, before: int = 0, shift: int = 0) -> None:
        self.item = item
        self.root = root or item.item_id
        self.before = before
        self.shift = shift
        self.chars = 0
        self.delta_kind: DeltaKind | None = None
        self._grown: dict[tuple[int, DeltaKind], list[str]] = {}
        self._last: tuple[tuple[int, DeltaKind], list[str]] | None = None

    def grow(self, delta: ItemDelta) -> None:
        place = (delta.content_index, delta.kind)
        last = self._last
        if last is None or last[0] != place:
            last = self._last = (place, self._grown.setdefault(place, []))
            self.delta_kind = delta.kind
        last[1].append(delta.delta)
        self.chars += len(delta.delta)

    def _joined(self, kind: DeltaKind) -> str:
        """The text of all deltas of a kind. Most items have deltas at one place only, or none."""
        grown, last = self._grown, self._last
        if len(grown) == 1 and last:
            return "".join(last[1]) if last[0][1] == kind else ""
        return "".join("".join(pieces) for (_, of_kind), pieces in grown.items() if of_kind == kind) if grown else ""

    def missing(self, final: Item) -> Iterator[ItemDelta]:
        """Deltas for the part of the final text that the agent did not stream."""
        yield from self._remainder(final, "reasoning", reasoning_of(final), _last_index(final, ReasoningPart))
        yield from self._remainder(final, "text", text_of(final), _last_index(final, TextPart))

    def _remainder(self, final: Item, kind: DeltaKind, whole: str, index: int) -> Iterator[ItemDelta]:
        streamed = self._joined(kind)
        if len(whole) > len(streamed) and whole.startswith(streamed):
            delta = ItemDelta(
                item_id=final.item_id,
                native_item_id=final.native_item_id,
                delta=whole[len(streamed) :],
                content_index=index,
                kind=kind,
                role=self.item.role,
            )
            self.grow(delta)
            yield delta

    def final(self, item: Item) -> Item:
        """The item as the agent completes it, with the universal ids of its start."""
        started = self.item
        return replace(
            item,
            item_id=started.item_id,
            parent_id=started.parent_id,
            subagent=started.subagent,
            turn_id=started.turn_id,
            native_item_id=item.native_item_id or started.native_item_id,
            status="failed" if item.status == "failed" else "completed",
        )

    def settled(self, final: Item) -> Item:
        """The final item with the text of its deltas: streamed text cannot be taken back."""
        text, reasoning = self._joined("text"), self._joined("reasoning")
        if text_of(final) == text and reasoning_of(final) == reasoning:
            return final
        kept = [part for part in final.content if not isinstance(part, TextPart | ReasoningPart)]
        name = final.name or message_parts.name_of("reasoning" if reasoning and not text else "text")
        return replace(final, content=[*_streamed(text, reasoning), *kept], name=name)

    def ended(self) -> Item:
        """The item as far as it came, complete."""
        content = [*_streamed(self._joined("text"), self._joined("reasoning")), *self.item.content]
        return replace(self.item, status="completed", content=content, name=self._name())

    def _name(self) -> str | None:
        return self.item.name or message_parts.name_of(self.delta_kind or "text")

    def rest(self, ended: Item) -> "OpenItem":
        """The next item of the agent's message, from the log. A failed item had grown too long."""
        parts = self._last[0][0] + 1 if self._last else 0
        if ended.status == "failed":
            return OpenItem(ended, root=self.root, before=self.before, shift=self.shift)
        return OpenItem(ended, root=self.root, before=self.before + 1, shift=self.shift + parts)

    def failed(self, why: str) -> Item:
        """The item as far as it came, failed."""
        parts = [*_streamed(self._joined("text"), self._joined("reasoning")), *self.item.content]
        output, arguments = self._joined("tool_output"), self._joined("tool_input")
        content: list[ContentPart] = []
        for part in parts:
            match part:
                case ToolResultPart() if output and not part.output:
                    content.append(replace(part, output=output, is_error=True))
                case ToolCallPart() if arguments and not part.arguments:
                    content.append(replace(part, arguments=arguments))
                case _:
                    content.append(part)
        return replace(self.item, status="failed", content=content, error=why, name=self._name())


def next_id(item_id: str) -> str:
    """The id of the item as which an item's message goes on, where ids are derived."""
    return derived_id("itm_", item_id, "next")


def starting_content(item: Item) -> list[ContentPart]:
    """The content of an item when it starts, without its text."""
    match item.kind:
        case "tool_call":
            return item.content
        case "tool_result":
            results = [part for part in item.content if isinstance(part, ToolResultPart)]
            return [ToolResultPart(call_id=part.call_id, output="") for part in results]
        case _:
            return [part for part in item.content if not isinstance(part, TextPart | ReasoningPart)]


def _streamed(text: str, reasoning: str) -> Iterator[ContentPart]:
    if reasoning:
        yield ReasoningPart(text=reasoning, visibility="public")
    if text:
        yield TextPart(text=text)


def _last_index(item: Item, kind: type[TextPart] | type[ReasoningPart]) -> int:
    return max((index for index, part in enumerate(item.content) if isinstance(part, kind)), default=0)


def stub(delta: ItemDelta) -> Item:
    """The start of an item that only a delta announced."""
    item = Item(
        item_id=delta.item_id,
        native_item_id=delta.native_item_id,
        parent_id=None,
        kind="message",
        role="assistant",
        status="in_progress",
        content=[],
    )
    match delta.kind:
        case "tool_input":
            return replace(item, kind="tool_call")
        case "tool_output":
            return replace(item, kind="tool_result", role="tool")
        case "text" | "reasoning":
            return item
        case _:
            assert_never(delta.kind)
