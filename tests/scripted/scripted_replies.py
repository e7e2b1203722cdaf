"""What a scripted model answers: replies, and which request each is for. Served by `messages_server.py`."""

import json
import secrets
import threading
from collections.abc import Mapping

from msgspec import Struct, field

from tests.scripted.script import Script

USAGE = {
    "input_tokens": 100,
    "output_tokens": 10,
    "cache_read_input_tokens": 50,
    "cache_creation_input_tokens": 0,
}


class Block(Struct, frozen=True, kw_only=True):
    """One content block: `start` as it begins, `deltas` as they come, `whole` as it is in the end."""

    whole: dict[str, object]
    start: dict[str, object]
    deltas: list[dict[str, object]]


class Failure(Struct, frozen=True, kw_only=True):
    status: int
    type: str
    message: str


class Reply(Struct, kw_only=True):
    """`when` must be in what was said since the model's last message. `held` deltas are streamed, then none until
    `release` is set; a reply with `times` is given that often.
    """

    blocks: list[Block] = []
    when: str = ""
    stop_reason: str = "end_turn"
    usage: dict[str, int] = field(default_factory=dict[str, int])
    failure: Failure | None = None
    held: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    times: int = 1


def say(text: str, *, when: str = "", chunk: int = 6, held: int | None = None) -> Reply:
    return Reply(blocks=[text_block(text, chunk)], when=when, held=held)


def think(thought: str, text: str, *, when: str = "") -> Reply:
    return Reply(blocks=[thinking_block(thought), text_block(text)], when=when)


def call(tool: str, input: Mapping[str, object], *, text: str = "", when: str = "") -> Reply:
    """The model asks for one tool, perhaps with a word before."""
    return calls((tool, input), text=text, when=when)


def calls(*tools: tuple[str, Mapping[str, object]], text: str = "", when: str = "") -> Reply:
    blocks = [text_block(text)] if text else []
    blocks += [tool_block(name, input) for name, input in tools]
    return Reply(blocks=blocks, when=when, stop_reason="tool_use")


def fail(status: int, type: str, message: str = "Scripted failure", *, times: int = 1) -> Reply:
    return Reply(failure=Failure(status=status, type=type, message=message), times=times)


def text_block(text: str, chunk: int = 6) -> Block:
    return Block(
        whole={"type": "text", "text": text},
        start={"type": "text", "text": ""},
        deltas=[{"type": "text_delta", "text": piece} for piece in _pieces(text, chunk)],
    )


def thinking_block(thought: str) -> Block:
    signature = "c2NyaXB0ZWQ="
    deltas: list[dict[str, object]] = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(thought, 8)]
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
        deltas=[{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(dict(input)), 12)],
    )


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


class SaidBlock(Struct, frozen=True):
    type: str = ""
    text: str = ""
    content: "str | list[SaidBlock] | None" = None
    source: object = None


class Said(Struct, frozen=True):
    role: str = ""
    content: str | list[SaidBlock] = ""


class Request(Struct, frozen=True):
    """What the agent sent to the model."""

    model: str = ""
    messages: list[Said] = []
    system: str | list[SaidBlock] | None = None
    tools: list[object] = []
    max_tokens: int = 0
    stream: bool = False
    output_config: dict[str, object] = {}

    @property
    def news(self) -> str:
        """All that was said since the model's last message; the agent may have put its own words after the user's."""
        since: list[str] = []
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            since.append(words(message.content))
        return "\n".join(reversed(since))

    @property
    def is_probe(self) -> bool:
        """The agent tries out a model's name; that is no turn of a conversation."""
        return self.max_tokens == 1 and not self.tools


def words(content: str | list[SaidBlock] | None) -> str:
    """All text in a message's content, tool results and their errors included."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text or words(block.content) for block in content)


class MessagesScript(Script[Request, Reply]):
    def take(self, request: Request) -> Reply:
        return say("Hello") if request.is_probe else super().take(request)


def script() -> MessagesScript:
    return MessagesScript(say("Nothing more was scripted."))
