"""Translates a session's events into `session/update` notifications. Pure."""

from collections.abc import Sequence
from typing import TypeAlias, cast

from everyagent.cli.acp.tool_calls import content_of, described, image_block, input_of, text_content
from everyagent.client.event_codec import AnyEvent
from everyagent.model.events import Error, ItemCompleted, ItemDelta, ItemStarted, SessionUpdated
from everyagent.model.items import Item
from everyagent.model.parts import ImagePart, StatusPart, ToolCallPart, ToolResultPart

Update: TypeAlias = dict[str, object]

_TEXTS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
_STEPS = ("pending", "in_progress", "completed")
#: Of a running command's output, so much is shown.
_LIVE_CHARS = 64 * 1024


class Updates:
    """Holds the open items of one session."""

    def __init__(self) -> None:
        self._open: dict[str, Item] = {}
        self._calls: dict[str, str] = {}  # call id -> item id of the latest call with it
        self._live: dict[str, _LiveOutput] = {}

    def take(self, event: AnyEvent) -> Sequence[Update]:
        match event.data:
            case ItemStarted(item=item):
                self._open[item.item_id] = item
                return self._started(item)
            case ItemDelta() as delta:
                return self._delta(delta)
            case ItemCompleted(item=item):
                self._open.pop(item.item_id, None)
                self._live.pop(item.item_id, None)
                return self._completed(item)
            case SessionUpdated(title=str(title)):
                return [{"sessionUpdate": "session_info_update", "title": title}]
            case Error(message=message, retry=retry) if retry is not None:
                return [_chunk("agent_thought_chunk", f"{message}\n", event.event_id)]
            case _:
                return ()

    def _started(self, item: Item) -> Sequence[Update]:
        if (part := _call_in(item)) is None:
            return ()
        self._calls[part.call_id] = item.item_id
        return [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": item.item_id,
                "status": "pending",
                **described(part.name, input_of(part.arguments)),
            }
        ]

    def _delta(self, delta: ItemDelta) -> Sequence[Update]:
        item = self._open.get(delta.item_id)
        match delta.kind:
            case "tool_output":
                return self._output(item, delta)
            case "reasoning":
                return [_chunk("agent_thought_chunk", delta.delta, delta.item_id)]
            case "text" if item and item.kind == "message" and item.role in ("user", "assistant"):
                kind = "user_message_chunk" if item.role == "user" else "agent_message_chunk"
                return [_chunk("agent_thought_chunk" if item.subagent else kind, delta.delta, delta.item_id)]
            case _:
                return ()

    def _output(self, item: Item | None, delta: ItemDelta) -> Sequence[Update]:
        call = self._call_of(item)
        text = self._live.setdefault(delta.item_id, _LiveOutput()).add(delta.delta)
        if call is None or text is None:
            return ()
        return [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": call,
                "status": "in_progress",
                "content": [text_content(text)],
            }
        ]

    def _completed(self, item: Item) -> Sequence[Update]:
        match item.kind:
            case "message":
                return [
                    {**_chunk("agent_message_chunk", "", item.item_id), "content": image_block(part.data, part.mime)}
                    for part in item.content
                    if isinstance(part, ImagePart) and part.data and item.role == "assistant"
                ]
            case "tool_call" if part := _call_in(item):
                update: Update = {"sessionUpdate": "tool_call_update", "toolCallId": item.item_id}
                failed = item.status == "failed"
                said = {"content": [text_content(item.error)]} if failed and item.error else {}
                status = "failed" if failed else "in_progress"
                return [{**update, "status": status, **described(part.name, input_of(part.arguments)), **said}]
            case "tool_result":
                return self._result(item)
            case "status":
                return _status(item)
            case _:
                return ()

    def _result(self, item: Item) -> Sequence[Update]:
        call = self._call_of(item)
        part = next((part for part in item.content if isinstance(part, ToolResultPart)), None)
        if call is None or part is None:
            return ()
        facts = {"output": part.output, "exitCode": part.exit_code, "durationMs": part.duration_ms}
        update: Update = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "status": "failed" if item.status == "failed" or part.is_error else "completed",
            "content": content_of(item.content),
            "rawOutput": {name: value for name, value in facts.items() if value is not None},
        }
        return [update]

    def _call_of(self, item: Item | None) -> str | None:
        parts = item.content if item else []
        return next((self._calls.get(part.call_id) for part in parts if isinstance(part, ToolResultPart)), None)


class _LiveOutput:
    """Output of a running command. It is shown again when it has grown by an eighth, so that all of it costs little."""

    def __init__(self) -> None:
        self._text = ""
        self._shown = 0

    def add(self, piece: str) -> str | None:
        """The output so far, if it is to be shown now."""
        self._text = (self._text + piece)[:_LIVE_CHARS]
        if len(self._text) <= self._shown * 9 // 8:
            return None
        self._shown = len(self._text)
        return self._text


class JoinedChunks:
    """Joins the text chunks of one message: a replay need not repeat how it was streamed."""

    def __init__(self) -> None:
        self._last: Update = {}
        self._pieces: list[str] = []

    def add(self, update: Update) -> Sequence[Update]:
        """The updates that are complete now, in order."""
        text = _text_of(update)
        if text is None:
            return [*self.rest(), update]
        done: Sequence[Update] = ()
        if any(self._last.get(key) != update[key] for key in ("sessionUpdate", "messageId")):
            done = self.rest()
            self._last = update
        self._pieces.append(text)
        return done

    def rest(self) -> Sequence[Update]:
        last, text = self._last, "".join(self._pieces)
        self._last, self._pieces = {}, []
        return [{**last, "content": {"type": "text", "text": text}}] if last else ()


def _text_of(update: Update) -> str | None:
    """The text of a chunk; None for any other update."""
    content = update.get("content")
    if update["sessionUpdate"] not in _TEXTS or not isinstance(content, dict):
        return None
    text = cast(dict[str, object], content).get("text")
    return text if isinstance(text, str) else None


def _chunk(kind: str, text: str, message: str) -> Update:
    return {"sessionUpdate": kind, "messageId": message, "content": {"type": "text", "text": text}}


def _call_in(item: Item) -> ToolCallPart | None:
    if item.kind != "tool_call":
        return None
    return next((part for part in item.content if isinstance(part, ToolCallPart)), None)


def _status(item: Item) -> Sequence[Update]:
    parts = [part for part in item.content if isinstance(part, StatusPart)]
    match item.name:
        case "plan":
            entries = [
                {
                    "content": part.label,
                    "priority": "medium",
                    "status": part.detail if part.detail in _STEPS else "pending",
                }
                for part in parts
            ]
            return [{"sessionUpdate": "plan", "entries": entries}]
        case "commands":
            commands = [
                {"name": part.label.removeprefix("/"), "description": part.detail or part.label} for part in parts
            ]
            return [{"sessionUpdate": "available_commands_update", "availableCommands": commands}]
        case _:
            return ()
