"""Requests and replies of the scripted Chat Completions API (`chat_server.py`)."""

import json
import secrets
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from everyagent.model.parts import Json
from tests.scripted.model_server import Failure, ModelReply
from tests.scripted.script import DEFAULT_TEXT, Script, pieces, since_last

USAGE = {"input_tokens": 120, "cached_tokens": 20, "output_tokens": 30, "reasoning_tokens": 5}


class Completion(ModelReply, kw_only=True):
    deltas: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    finish: str = "stop"


def say(
    text: str, *, when: str = "", held: int | None = None, cut: int | None = None, finish: str = "stop"
) -> Completion:
    return Completion(deltas=_text_deltas("content", text), when=when, held=held, cut=cut, finish=finish)


def think(thought: str, text: str, *, when: str = "") -> Completion:
    return Completion(deltas=[*_text_deltas("reasoning_content", thought), *_text_deltas("content", text)], when=when)


def run(command: str, *, when: str = "", text: str = "") -> Completion:
    """A call of the shell tool."""
    return call("bash", {"command": command, "description": "Runs it"}, when=when, text=text)


def call(tool: str, input: Mapping[str, Json] | str, *, when: str = "", text: str = "") -> Completion:
    """A call of one tool, with `text` before it. An `input` that is a string is sent as it is."""
    return calls((tool, input), when=when, text=text)


def calls(*tools: tuple[str, Mapping[str, Json] | str], when: str = "", text: str = "") -> Completion:
    deltas = _text_deltas("content", text)
    for index, (tool, input) in enumerate(tools):
        head = {"index": index, "id": f"call_{secrets.token_hex(8)}", "type": "function"}
        deltas.append({"tool_calls": [{**head, "function": {"name": tool, "arguments": ""}}]})
        arguments = input if isinstance(input, str) else json.dumps(dict(input))
        for piece in pieces(arguments, 40):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    return Completion(deltas=deltas, finish="tool_calls", when=when)


def fail(
    status: int,
    code: str,
    message: str = "Scripted failure",
    *,
    when: str = "",
    times: int = 1,
    headers: dict[str, str] | None = None,
) -> Completion:
    failure = Failure(status=status, code=code, message=message, headers=headers or {})
    return Completion(failure=failure, when=when, times=times)


def _text_deltas(field: str, text: str) -> list[dict[str, object]]:
    return [{field: piece} for piece in pieces(text, 8)]


class Image(Struct, frozen=True):
    url: str = ""


class Content(Struct, frozen=True):
    type: str = ""
    text: str = ""
    image_url: Image | None = None


class Message(Struct, frozen=True):
    role: str = ""
    content: str | list[Content] | None = None


class Request(Struct, frozen=True):
    """A request of an agent to the model."""

    model: str = ""
    messages: list[Message] = []
    tools: list[object] = []
    reasoning_effort: str | None = None

    @property
    def new_text(self) -> str:
        """The text of the user and of tools since the model's last message."""
        new = since_last(self.messages, lambda message: message.role == "assistant")
        return "\n".join(text_of(message) for message in new if message.role != "system")

    @property
    def everything(self) -> str:
        return "\n".join(text_of(message) for message in self.messages)

    @property
    def is_side_request(self) -> bool:
        """Whether the agent asks for a title or a summary, outside of the conversation."""
        return not self.tools


def text_of(message: Message) -> str:
    """All text of a message."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "\n".join(part.text for part in message.content)


class ChatScript(Script[Request, Completion]):
    """Side requests always get the same reply. They are kept in `side_requests`."""

    def __init__(self) -> None:
        super().__init__(say(DEFAULT_TEXT))
        self.side_requests: list[Request] = []

    def take(self, request: Request) -> Completion:
        if request.is_side_request:
            self.side_requests.append(request)
            return say("A scripted title")
        return super().take(request)


def usage() -> dict[str, object]:
    """`USAGE` in the form of this API."""
    return {
        "prompt_tokens": USAGE["input_tokens"],
        "completion_tokens": USAGE["output_tokens"],
        "total_tokens": USAGE["input_tokens"] + USAGE["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": USAGE["cached_tokens"]},
        "completion_tokens_details": {"reasoning_tokens": USAGE["reasoning_tokens"]},
    }


def images(requests: Sequence[Request]) -> list[str]:
    """The URLs of all images in the requests."""
    contents = [message.content for request in requests for message in request.messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part.image_url.url for part in parts if part.image_url]
