"""Requests and replies of the scripted Messages API (`messages_server.py`)."""

import json
import secrets
from collections.abc import Mapping

from msgspec import Struct, field

from tests.scripted.model_server import Failure, ModelReply
from tests.scripted.script import DEFAULT_TEXT, Script, pieces, since_last

USAGE = {
    "input_tokens": 100,
    "output_tokens": 10,
    "cache_read_input_tokens": 50,
    "cache_creation_input_tokens": 0,
}


class Block(Struct, frozen=True, kw_only=True):
    """A content block: its start, its deltas, and its final form."""

    whole: dict[str, object]
    start: dict[str, object]
    deltas: list[dict[str, object]]


class Reply(ModelReply, kw_only=True):
    """`id` is the message's; a new one is made if it is empty."""

    id: str = ""
    blocks: list[Block] = field(default_factory=list[Block])
    stop_reason: str = "end_turn"
    usage: dict[str, int] = field(default_factory=dict[str, int])


def say(text: str, *, when: str = "", chunk: int = 6, held: int | None = None) -> Reply:
    return Reply(blocks=[text_block(text, chunk)], when=when, held=held)


def think(thought: str, text: str, *, when: str = "") -> Reply:
    return Reply(blocks=[thinking_block(thought), text_block(text)], when=when)


def call(tool: str, input: Mapping[str, object], *, text: str = "", when: str = "") -> Reply:
    """A call of one tool, with `text` before it."""
    return calls((tool, input), text=text, when=when)


def calls(*tools: tuple[str, Mapping[str, object]], text: str = "", when: str = "") -> Reply:
    blocks = [text_block(text)] if text else []
    blocks += [tool_block(name, input) for name, input in tools]
    return Reply(blocks=blocks, when=when, stop_reason="tool_use")


def fail(status: int, code: str, message: str = "Scripted failure", *, times: int = 1) -> Reply:
    return Reply(failure=Failure(status=status, code=code, message=message), times=times)


def text_block(text: str, chunk: int = 6) -> Block:
    return Block(
        whole={"type": "text", "text": text},
        start={"type": "text", "text": ""},
        deltas=[{"type": "text_delta", "text": piece} for piece in pieces(text, chunk)],
    )


def thinking_block(thought: str) -> Block:
    signature = "c2NyaXB0ZWQ="
    deltas: list[dict[str, object]] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thought, 8)]
    return Block(
        whole={"type": "thinking", "thinking": thought, "signature": signature},
        start={"type": "thinking", "thinking": "", "signature": ""},
        deltas=[*deltas, {"type": "signature_delta", "signature": signature}],
    )


def tool_block(name: str, input: Mapping[str, object]) -> Block:
    id = f"toolu_{secrets.token_hex(12)}"
    return Block(
        whole={"type": "tool_use", "id": id, "name": name, "input": dict(input)},
        start={"type": "tool_use", "id": id, "name": name, "input": {}},
        deltas=[{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(dict(input)), 12)],
    )


class ContentBlock(Struct, frozen=True):
    type: str = ""
    text: str = ""
    content: "str | list[ContentBlock] | None" = None
    source: object = None


class Message(Struct, frozen=True):
    role: str = ""
    content: str | list[ContentBlock] = ""


class Request(Struct, frozen=True):
    """A request of an agent to the model."""

    model: str = ""
    messages: list[Message] = []
    system: str | list[ContentBlock] | None = None
    tools: list[object] = []
    max_tokens: int = 0
    stream: bool = False
    output_config: dict[str, object] = {}

    @property
    def new_text(self) -> str:
        """The text since the model's last message. The agent may have added to the user's."""
        new = since_last(self.messages, lambda message: message.role == "assistant")
        return "\n".join(text_of(message.content) for message in new)

    @property
    def is_probe(self) -> bool:
        """Whether the agent only checks that the model exists."""
        return self.max_tokens == 1 and not self.tools


def text_of(content: str | list[ContentBlock] | None) -> str:
    """All text of a message's content, with tool results."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text or text_of(block.content) for block in content)


class MessagesScript(Script[Request, Reply]):
    def __init__(self) -> None:
        super().__init__(say(DEFAULT_TEXT))

    def take(self, request: Request) -> Reply:
        return say("Hello") if request.is_probe else super().take(request)
