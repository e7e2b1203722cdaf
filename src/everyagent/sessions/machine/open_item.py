"""An item that has started and not yet completed, with the text of its deltas so far."""

from collections.abc import Iterator

from msgspec.structs import replace

from everyagent.model.events import DeltaKind, ItemDelta
from everyagent.model.items import Item, reasoning_of, text_of
from everyagent.model.parts import ContentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart


class OpenItem:
    __slots__ = ("_grown", "_last", "chars", "item")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.chars = 0
        self._grown: dict[tuple[int, DeltaKind], list[str]] = {}
        self._last: tuple[tuple[int, DeltaKind], list[str]] | None = None

    def grow(self, delta: ItemDelta) -> None:
        place = (delta.content_index, delta.kind)
        last = self._last
        if last is None or last[0] != place:
            last = self._last = (place, self._grown.setdefault(place, []))
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
        yield from self._remainder(final, "text", text_of(final), _last_index(final, TextPart))
        if self._joined("reasoning"):
            yield from self._remainder(final, "reasoning", reasoning_of(final), _last_index(final, ReasoningPart))

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

    def settled(self, final: Item) -> Item:
        """The final item with the text of its deltas: streamed text cannot be taken back."""
        text, reasoning = self._joined("text"), self._joined("reasoning")
        if text_of(final) == text and (not reasoning or reasoning_of(final) == reasoning):
            return final
        kept = [part for part in final.content if not isinstance(part, TextPart | ReasoningPart)]
        return replace(final, content=[*_streamed(text, reasoning), *kept])

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
        return replace(self.item, status="failed", content=content, error=why)


def _streamed(text: str, reasoning: str) -> Iterator[ContentPart]:
    if reasoning:
        yield ReasoningPart(text=reasoning, visibility="public")
    if text:
        yield TextPart(text=text)


def _last_index(item: Item, kind: type[TextPart] | type[ReasoningPart]) -> int:
    return max((index for index, part in enumerate(item.content) if isinstance(part, kind)), default=0)
