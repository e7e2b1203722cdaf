"""What the model says, block by block, as message and call items. Holds what is being said right now.

Used by `decode.py`. The agent and each of its sub-agents speak on their own, so each has a voice.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from everyagent.agents import items
from everyagent.agents.adapter import Draft
from everyagent.agents.claude import wire
from everyagent.agents.claude.asks import plan_of
from everyagent.agents.claude.results import Call, called, result
from everyagent.agents.claude.turns import used
from everyagent.agents.mcp_names import server_and_tool
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
    ToolResultPart,
)

#: So many calls may be without a result, so many sub-agents may speak; of more, the oldest are forgotten.
REMEMBERED = 4096
NOTHING = msgspec.Raw(b"null")
_CUT = "The reply was cut off; the agent asks for the rest of it."
_INTERRUPTED = "The reply was interrupted."

K = TypeVar("K")
V = TypeVar("V")

_todos = msgspec.json.Decoder(wire.TodoInput)


class Voice:
    """One message that is being streamed: which block became which part, or which call."""

    __slots__ = ("aborted", "block", "calls", "key", "model", "parts", "places", "tokens")

    def __init__(self, key: str) -> None:
        self.key = key
        self.model: str | None = None
        self.tokens: wire.Tokens | None = None
        self.parts: list[ContentPart | None] = []  # None: begun, and not told whole yet
        self.places: dict[int, int] = {}
        self.calls: dict[int, str] = {}
        self.block = 0
        self.aborted = False

    def begin(self, index: int) -> int:
        self.block = index
        place = self.places.get(index)
        if place is None:
            place = self.places[index] = len(self.parts)
            self.parts.append(None)
        return place

    def content(self) -> list[ContentPart]:
        return [part for part in self.parts if part is not None]


class Speech:
    def __init__(self) -> None:
        self._voices: dict[str | None, Voice] = {}
        self._last: dict[str | None, str] = {}  # the message each speaker said last without streaming it
        self.calls: dict[str, Call] = {}
        self.plans: dict[str, str] = {}

    # -- streamed -----------------------------------------------------------------------------------------------

    def delta(self, frame: wire.StreamDelta) -> Sequence[Draft] | None:
        """None if it is a kind of delta that nobody knows."""
        voice = self._voices.get(frame.parent_tool_use_id)
        if voice is None:
            voice = self._voices[frame.parent_tool_use_id] = Voice(frame.api_message_id or "message")
        delta, index = frame.event.delta, frame.event.index
        match delta.type:
            case "text_delta":
                key, kind, text = voice.key, "text", delta.text
                place = voice.places.get(index)
            case "thinking_delta":
                key, kind, text = voice.key, "reasoning", delta.thinking
                place = voice.places.get(index)
            case "input_json_delta":
                key, kind, text, place = voice.calls.get(index, ""), "tool_input", delta.partial_json, 0
            case "signature_delta" | "citations_delta" | "connector_text_delta":
                return ()
            case _:
                return None
        if not text or not key:
            return ()
        if place is None:
            place = voice.begin(index)
        return (ItemDelta(item_id=key, native_item_id=key, delta=text, content_index=place, kind=kind),)

    def event(self, frame: wire.StreamEvent) -> Sequence[Draft] | None:
        """None if it is a kind of event that nobody knows."""
        speaker, event = frame.parent_tool_use_id, frame.event
        match event.type:
            case "message_start":
                cut = self._end(speaker, _CUT)
                key = event.message.id if event.message else frame.api_message_id or frame.uuid
                voice = self._voices[speaker] = Voice(key)
                if event.message:
                    voice.model, voice.tokens = event.message.model, event.message.usage
                return (*cut, ItemStarted(item=items.message(key, native=key, subagent=speaker)))
            case "content_block_start":
                return self._block_start(speaker, event)
            case "message_delta":
                if (voice := self._voices.get(speaker)) and event.usage:
                    voice.tokens = event.usage
                return ()
            case "message_stop":
                voice = self._voices.get(speaker)
                return (*self._end(speaker, None), *_responded(voice, speaker))
            case "content_block_stop" | "ping" | "error":
                return ()
            case _:
                return None

    def _block_start(self, speaker: str | None, event: wire.StreamBody) -> Sequence[Draft]:
        voice, block = self._voices.get(speaker), event.content_block
        if voice is None or block is None:
            return ()
        if not block.type.endswith("tool_use"):
            voice.begin(event.index)
            return ()
        voice.block = event.index
        voice.calls[event.index] = block.id
        return (ItemStarted(item=_called(block, "", voice.key, speaker, "in_progress")),)

    def _end(self, speaker: str | None, why: str | None) -> Sequence[Draft]:
        voice = self._voices.pop(speaker, None)
        if voice is None:
            return ()
        why = _INTERRUPTED if voice.aborted else why
        item = items.message(
            voice.key,
            native=voice.key,
            subagent=speaker,
            content=voice.content(),
            status="failed" if why else "completed",
            error=why,
        )
        return (ItemCompleted(item=item),)

    def end_all(self) -> Sequence[Draft]:
        """The turn is over: nobody speaks any more."""
        return [draft for speaker in list(self._voices) for draft in self._end(speaker, _CUT)]

    # -- whole blocks ---------------------------------------------------------------------------------------------

    def said(self, frame: wire.Assistant) -> Sequence[Draft]:
        voice = self._voices.get(frame.parent_tool_use_id)
        content = frame.message.content
        blocks = [wire.Block(type="text", text=content)] if isinstance(content, str) else content
        if voice is not None and voice.key == frame.message.id:
            voice.aborted = voice.aborted or frame.aborted
            return [draft for block in blocks for draft in self._told(voice, block, frame.parent_tool_use_id)]
        return self._unstreamed(frame, blocks)

    def _told(self, voice: Voice, block: wire.Block, speaker: str | None) -> Sequence[Draft]:
        if block.type.endswith("tool_use"):
            return self._call(block, voice.key, speaker)
        if block.type.endswith("tool_result"):
            return self.returned(block, NOTHING, speaker)
        voice.parts[voice.begin(voice.block)] = _part(block)
        return ()

    def _unstreamed(self, frame: wire.Assistant, blocks: Sequence[wire.Block]) -> Sequence[Draft]:
        """Messages of sub-agents and of the agent itself come block by block: the first one makes the item."""
        speaker, key = frame.parent_tool_use_id, frame.message.id
        parts = [_part(block) for block in blocks if not block.type.endswith(("tool_use", "tool_result"))]
        drafts: list[Draft] = []
        again = self._last.get(speaker) == key
        keep(self._last, speaker, key)
        if parts or not again:
            own = f"{key} {frame.uuid}" if again else key
            drafts += items.whole(items.message(own, native=own, subagent=speaker, content=parts, status="completed"))
        for block in blocks:
            if block.type.endswith("tool_use"):
                drafts += self._call(block, key, speaker)
            elif block.type.endswith("tool_result"):
                drafts += self.returned(block, NOTHING, speaker)
        return drafts

    def returned(self, block: wire.Block, structured: msgspec.Raw, speaker: str | None) -> Sequence[Draft]:
        """A tool's result, from the agent, or from the API for the tools that it runs itself."""
        call = self.calls.pop(block.tool_use_id, Call("unknown", None))
        self.plans.pop(block.tool_use_id, None)
        item = result(block, structured, call, subagent=speaker)
        empty = ToolResultPart(call_id=block.tool_use_id, output="")
        begun = msgspec.structs.replace(item, status="in_progress", content=[empty], error=None)
        return (ItemStarted(item=begun), ItemCompleted(item=item))

    def _call(self, block: wire.Block, message: str, speaker: str | None) -> Sequence[Draft]:
        keep(self.calls, block.id, called(block, message))
        item = _called(block, bytes(block.input).decode(), message, speaker, "completed")
        return (ItemCompleted(item=item), *self._plans(block))

    def _plans(self, block: wire.Block) -> Sequence[Draft]:
        """To-do lists and plans are statuses besides being calls."""
        match block.name:
            case "TodoWrite":
                try:
                    todos = _todos.decode(block.input).todos
                except msgspec.ValidationError:
                    return ()
                parts = [StatusPart(label=todo.content, detail=todo.status) for todo in todos]
                return _status(f"{block.id} todos", "todos", parts)
            case "ExitPlanMode":
                plan = plan_of(block.input)
                if not plan:
                    return ()
                keep(self.plans, block.id, plan)
                parts = [StatusPart(label="Plan", detail=plan)]
                return _status(f"{block.id} plan", "plan", parts)
            case _:
                return ()


def _responded(voice: Voice | None, speaker: str | None) -> Sequence[Draft]:
    if voice is None or voice.tokens is None:
        return ()
    return (ModelResponded(usage=used(voice.tokens), model=voice.model, subagent=speaker),)


def _called(block: wire.Block, arguments: str, message: str, subagent: str | None, status: ItemStatus) -> Item:
    server, tool = server_and_tool(block.name)
    part = ToolCallPart(name=tool, arguments=arguments, call_id=block.id, mcp_server=server)
    return items.call(block.id, part, native=block.id, parent=message, subagent=subagent, status=status)


def _status(key: str, name: str, parts: Sequence[StatusPart]) -> Sequence[Draft]:
    return items.whole(items.status(key, name, parts, native=key))


def keep(memory: dict[K, V], key: K, value: V) -> None:
    """However much an agent says, no more than the newest are remembered."""
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


def _part(block: wire.Block) -> ContentPart:
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
            return JsonPart(json=msgspec.to_builtins(block))
