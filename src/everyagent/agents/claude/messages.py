"""Decodes messages, block by block, into message and call items, and holds those that are being streamed.

Used by `decode.py`. The agent and each sub-agent stream on their own: a speaker is the call that started it, or None.
"""

from collections.abc import Sequence

import msgspec

from everyagent.agents import items
from everyagent.agents.adapter import Draft
from everyagent.agents.claude import wire
from everyagent.agents.claude.asks import plan_of
from everyagent.agents.claude.results import ClaudeCall, called, result
from everyagent.agents.claude.turns import used
from everyagent.agents.item_keys import ItemKeys
from everyagent.agents.mcp_names import server_and_tool
from everyagent.agents.memory import remember
from everyagent.agents.unknown_items import unknown_item, value_at
from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted, ModelResponded
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import (
    ContentPart,
    ImagePart,
    JsonPart,
    ReasoningPart,
    StatusPart,
    TextPart,
    ToolCallPart,
)

#: The number of open calls and of speakers that are remembered; of more, the oldest are forgotten.
REMEMBERED = 4096
NOTHING = msgspec.Raw(b"null")
_CUT = "The reply was cut off; the agent asks for the rest of it."
_INTERRUPTED = "The reply was interrupted."

#: Blocks that become parts of messages. Calls and results are items of their own.
_KNOWN = frozenset({"text", "thinking", "redacted_thinking", "image"})

_todos = msgspec.json.Decoder(wire.TodoInput)


class StreamedMessage:
    """A message that is being streamed: the part or the call that each block became.

    `complete`: its item is complete, because a call followed its text. Text after that is another item.
    """

    __slots__ = ("aborted", "block", "calls", "complete", "key", "model", "native", "parts", "places", "tokens")

    def __init__(self, key: str, native: str) -> None:
        self.key = key
        self.native = native
        self.model: str | None = None
        self.tokens: wire.ClaudeUsage | None = None
        self.parts: list[ContentPart | None] = []  # None: begun, not complete yet
        self.places: dict[int, int] = {}
        self.calls: dict[int, tuple[str, str]] = {}  # key and native id
        self.block = 0
        self.aborted = False
        self.complete = False

    def go_on(self, key: str) -> None:
        """Text follows a call: it becomes another item."""
        self.key, self.complete = key, False
        self.parts, self.places = [], {}

    def begin(self, index: int) -> int:
        self.block = index
        place = self.places.get(index)
        if place is None:
            place = self.places[index] = len(self.parts)
            self.parts.append(None)
        return place

    def content(self) -> list[ContentPart]:
        return [part for part in self.parts if part is not None]


class ClaudeMessages:
    """The messages and calls of one conversation. `keys` are the keys of their items."""

    def __init__(self) -> None:
        self._streams: dict[str | None, StreamedMessage] = {}
        self._last: dict[str | None, str] = {}  # the native id of each speaker's last message that was not streamed
        self.keys = ItemKeys()
        self.calls: dict[str, ClaudeCall] = {}
        self.plans: dict[str, str] = {}
        self._todos: dict[str, Item] = {}

    # -- streamed -----------------------------------------------------------------------------------------------

    def delta(self, frame: wire.StreamDelta) -> Sequence[Draft] | None:
        """None for an unknown kind of delta."""
        streamed = self._streams.get(frame.parent_tool_use_id)
        if streamed is None:
            native = frame.api_message_id or "message"
            streamed = self._streams[frame.parent_tool_use_id] = StreamedMessage(self.keys.begin(native), native)
        delta, index = frame.event.delta, frame.event.index
        match delta.type:
            case "text_delta":
                key, native, kind, text = streamed.key, streamed.native, "text", delta.text
                place = streamed.places.get(index)
            case "thinking_delta":
                key, native, kind, text = streamed.key, streamed.native, "reasoning", delta.thinking
                place = streamed.places.get(index)
            case "input_json_delta":
                key, native = streamed.calls.get(index, ("", ""))
                kind, text, place = "tool_input", delta.partial_json, 0
            case "signature_delta" | "citations_delta" | "connector_text_delta":
                return ()
            case _:
                return None
        if not text or not key:
            return ()
        if place is None:
            place = streamed.begin(index)
        return (ItemDelta(item_id=key, native_item_id=native, delta=text, content_index=place, kind=kind),)

    def event(self, frame: wire.StreamEvent) -> Sequence[Draft] | None:
        """None for an unknown kind of event."""
        speaker, event = frame.parent_tool_use_id, frame.event
        match event.type:
            case "message_start":
                cut = self._end(speaker, _CUT)
                native = event.message.id if event.message else frame.api_message_id or frame.uuid
                streamed = self._streams[speaker] = StreamedMessage(self.keys.begin(native), native)
                if event.message:
                    streamed.model, streamed.tokens = event.message.model, event.message.usage
                item = items.message(streamed.key, native=native, subagent=self._task(speaker))
                return (*cut, ItemStarted(item=item))
            case "content_block_start":
                return self._block_start(speaker, event)
            case "message_delta":
                if (streamed := self._streams.get(speaker)) and event.usage:
                    streamed.tokens = event.usage
                return ()
            case "message_stop":
                streamed = self._streams.get(speaker)
                return (*self._end(speaker, None), *_responded(streamed, self._task(speaker)))
            case "content_block_stop" | "ping" | "error":
                return ()
            case _:
                return None

    def _block_start(self, speaker: str | None, event: wire.StreamBody) -> Sequence[Draft]:
        streamed, block = self._streams.get(speaker), event.content_block
        if streamed is None or block is None:
            return ()
        task = self._task(speaker)
        if not block.type.endswith("tool_use"):
            if _is_unknown(block):
                return ()
            again: Sequence[Draft] = ()
            if streamed.complete:
                streamed.go_on(self.keys.begin(streamed.native))
                again = (ItemStarted(item=items.message(streamed.key, native=streamed.native, subagent=task)),)
            streamed.begin(event.index)
            return again
        streamed.block = event.index
        key = self.keys.begin(block.id)
        streamed.calls[event.index] = key, block.id
        call = ItemStarted(item=_called(key, block, "", streamed.key, task, "in_progress"))
        return (*self._complete(streamed, task), call)

    def _complete(self, streamed: StreamedMessage, task: str | None) -> Sequence[Draft]:
        """Completes the text before a call, so that it comes first."""
        if streamed.complete or not streamed.parts or None in streamed.parts:
            return ()
        streamed.complete = True
        item = items.message(
            streamed.key, native=streamed.native, subagent=task, content=streamed.content(), status="completed"
        )
        return (ItemCompleted(item=item),)

    def _end(self, speaker: str | None, why: str | None) -> Sequence[Draft]:
        streamed = self._streams.pop(speaker, None)
        if streamed is None or streamed.complete:
            return ()
        why = _INTERRUPTED if streamed.aborted else why
        item = items.message(
            streamed.key,
            native=streamed.native,
            subagent=self._task(speaker),
            content=streamed.content(),
            status="failed" if why else "completed",
            error=why,
        )
        return (ItemCompleted(item=item),)

    def end_all(self) -> Sequence[Draft]:
        """Ends all open messages at the end of the turn."""
        drafts = [draft for speaker in list(self._streams) for draft in self._end(speaker, _CUT)]
        self.keys.end_turn()
        self._last.clear()
        return drafts

    # -- whole blocks ---------------------------------------------------------------------------------------------

    def whole(self, frame: wire.ClaudeAssistant, body: bytes) -> Sequence[Draft]:
        content = frame.message.content
        blocks = [wire.ClaudeBlock(type="text", text=content)] if isinstance(content, str) else content
        strange = [place for place, block in enumerate(blocks) if _is_unknown(block)]
        if not strange:
            return self._blocks(frame, blocks)
        known = [block for block in blocks if not _is_unknown(block)]
        drafts = [*self._blocks(frame, known)] if known else []
        for place in strange:
            json, block = value_at(body, "message", "content", place), blocks[place]
            item = unknown_item(
                f"{frame.uuid} {place}",
                block.type,
                json,
                native=block.id or None,
                subagent=self._task(frame.parent_tool_use_id),
                parent=self.keys.of(frame.message.id),
            )
            drafts += items.whole(item)
        return drafts

    def _blocks(self, frame: wire.ClaudeAssistant, blocks: Sequence[wire.ClaudeBlock]) -> Sequence[Draft]:
        streamed = self._streams.get(frame.parent_tool_use_id)
        if streamed is not None and streamed.native == frame.message.id:
            streamed.aborted = streamed.aborted or frame.aborted
            return [draft for block in blocks for draft in self._block(streamed, block, frame.parent_tool_use_id)]
        return self._unstreamed(frame, blocks)

    def _block(self, streamed: StreamedMessage, block: wire.ClaudeBlock, speaker: str | None) -> Sequence[Draft]:
        if block.type.endswith("tool_use"):
            return self._call(block, streamed.key, speaker)
        if block.type.endswith("tool_result"):
            return self.returned(block, NOTHING, speaker)
        streamed.parts[streamed.begin(streamed.block)] = _part(block)
        return ()

    def _unstreamed(self, frame: wire.ClaudeAssistant, blocks: Sequence[wire.ClaudeBlock]) -> Sequence[Draft]:
        """A message that was not streamed comes block by block: the first block makes the item."""
        speaker, native = frame.parent_tool_use_id, frame.message.id
        parts = [_part(block) for block in blocks if not block.type.endswith(("tool_use", "tool_result"))]
        drafts: list[Draft] = []
        again = self._last.get(speaker) == native
        remember(self._last, speaker, native, REMEMBERED)
        key, task = self.keys.of(native), self._task(speaker)
        if parts or not again:
            own = f"{key} {frame.uuid}" if again else key
            drafts += items.whole(items.message(own, native=native, subagent=task, content=parts, status="completed"))
        for block in blocks:
            if block.type.endswith("tool_use"):
                drafts += self._call(block, key, speaker)
            elif block.type.endswith("tool_result"):
                drafts += self.returned(block, NOTHING, speaker)
        return drafts

    def returned(self, block: wire.ClaudeBlock, structured: msgspec.Raw, speaker: str | None) -> Sequence[Draft]:
        """A tool's result, from the agent, or from the API for tools that run there."""
        call = self.calls.pop(block.tool_use_id, ClaudeCall("unknown", None))
        self.plans.pop(block.tool_use_id, None)
        item = result(self.keys.of(block.tool_use_id), block, structured, call, subagent=self._task(speaker))
        todos = self._todos.pop(block.tool_use_id, None)
        noted = items.whole(todos) if todos and item.status == "completed" else ()
        return (ItemCompleted(item=item), *noted)

    def _call(self, block: wire.ClaudeBlock, message: str, speaker: str | None) -> Sequence[Draft]:
        remember(self.calls, block.id, called(block, message), REMEMBERED)
        key = self.keys.of(block.id)
        item = _called(key, block, bytes(block.input).decode(), message, self._task(speaker), "completed")
        return (ItemCompleted(item=item), *self._plans(key, block))

    def _task(self, speaker: str | None) -> str | None:
        """The key of the call that started a sub-agent; None for the agent itself."""
        return self.keys.latest(speaker) if speaker else None

    def _plans(self, key: str, block: wire.ClaudeBlock) -> Sequence[Draft]:
        """Adds status items to their calls: for plans at once, for to-do lists when the call has succeeded."""
        match block.name:
            case "TodoWrite":
                try:
                    todos = _todos.decode(block.input).todos
                except msgspec.ValidationError:
                    return ()
                parts = [StatusPart(label=todo.content, detail=todo.status) for todo in todos]
                remember(self._todos, block.id, items.status(f"{key} todos", "todos", parts), REMEMBERED)
                return ()
            case "ExitPlanMode":
                plan = plan_of(block.input)
                if not plan:
                    return ()
                remember(self.plans, block.id, plan, REMEMBERED)
                parts = [StatusPart(label="Plan", detail=plan)]
                return items.whole(items.status(f"{key} plan", "plan", parts))
            case _:
                return ()


def _responded(streamed: StreamedMessage | None, task: str | None) -> Sequence[Draft]:
    if streamed is None or streamed.tokens is None:
        return ()
    return (ModelResponded(usage=used(streamed.tokens), model=streamed.model, subagent=task),)


def _called(
    key: str, block: wire.ClaudeBlock, arguments: str, message: str, subagent: str | None, status: ItemStatus
) -> Item:
    server, tool = server_and_tool(block.name)
    part = ToolCallPart(name=tool, arguments=arguments, call_id=block.id, mcp_server=server)
    return items.call(key, part, native=block.id, parent=message, subagent=subagent, status=status)


def _part(block: wire.ClaudeBlock) -> ContentPart:
    match block.type:
        case "text":
            return TextPart(text=block.text)
        case "thinking":
            return ReasoningPart(text=block.thinking, visibility="public")
        case "redacted_thinking":
            return ReasoningPart(text="", visibility="private")
        case "image" if block.source:
            source = block.source
            return ImagePart(path=source.url or "image", mime=source.media_type, data=source.data)
        case _:
            return JsonPart(json=msgspec.json.decode(msgspec.json.encode(block)))  # `Raw` fields are no builtins


def _is_unknown(block: wire.ClaudeBlock) -> bool:
    return block.type not in _KNOWN and not block.type.endswith(("tool_use", "tool_result"))
