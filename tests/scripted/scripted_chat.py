"""What a scripted model of the chat completions API answers, and which request each answer is for.

Served by `chat_server.py`.
"""

import json
import secrets
import threading
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from everyagent.model.parts import Json
from tests.scripted.script import Script

USAGE = {"input_tokens": 120, "cached_tokens": 20, "output_tokens": 30, "reasoning_tokens": 5}


class Failure(Struct, frozen=True, kw_only=True):
    status: int
    code: str
    message: str
    headers: dict[str, str] = {}


class Completion(Struct, kw_only=True):
    """`when` must be in what was said since the model's last words. `held` deltas are streamed, then none until
    `release` is set; after `cut` deltas the connection breaks. It is given `times` times.
    """

    deltas: list[dict[str, object]] = []
    finish: str = "stop"
    when: str = ""
    failure: Failure | None = None
    held: int | None = None
    cut: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    times: int = 1


def say(
    text: str, *, when: str = "", held: int | None = None, cut: int | None = None, finish: str = "stop"
) -> Completion:
    return Completion(deltas=_words("content", text), when=when, held=held, cut=cut, finish=finish)


def think(thought: str, text: str, *, when: str = "") -> Completion:
    return Completion(deltas=[*_words("reasoning_content", thought), *_words("content", text)], when=when)


def run(command: str, *, when: str = "", text: str = "") -> Completion:
    """The model runs a command."""
    return call("bash", {"command": command, "description": "Runs it"}, when=when, text=text)


def call(tool: str, input: Mapping[str, Json] | str, *, when: str = "", text: str = "") -> Completion:
    """The model calls a function, perhaps with a word before. An `input` that is text goes as it is."""
    return calls((tool, input), when=when, text=text)


def calls(*tools: tuple[str, Mapping[str, Json] | str], when: str = "", text: str = "") -> Completion:
    deltas = _words("content", text)
    for index, (tool, input) in enumerate(tools):
        head = {"index": index, "id": f"call_{secrets.token_hex(8)}", "type": "function"}
        deltas.append({"tool_calls": [{**head, "function": {"name": tool, "arguments": ""}}]})
        arguments = input if isinstance(input, str) else json.dumps(dict(input))
        for piece in _pieces(arguments, 40):
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


def _words(field: str, text: str) -> list[dict[str, object]]:
    return [{field: piece} for piece in _pieces(text, 8)]


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


class Image(Struct, frozen=True):
    url: str = ""


class Content(Struct, frozen=True):
    type: str = ""
    text: str = ""
    image_url: Image | None = None


class Said(Struct, frozen=True):
    role: str = ""
    content: str | list[Content] | None = None


class Request(Struct, frozen=True):
    """What the agent sent to the model."""

    model: str = ""
    messages: list[Said] = []
    tools: list[object] = []
    reasoning_effort: str | None = None

    @property
    def news(self) -> str:
        """What the user and the tools said since the model's last words."""
        since: list[str] = []
        for said in reversed(self.messages):
            if said.role == "assistant":
                break
            if said.role != "system":
                since.append(words(said))
        return "\n".join(reversed(since))

    @property
    def everything(self) -> str:
        return "\n".join(words(said) for said in self.messages)

    @property
    def is_aside(self) -> bool:
        """The agent wants a title or a summary; that is no turn of a conversation."""
        return not self.tools


def words(said: Said) -> str:
    """All text in it."""
    if said.content is None or isinstance(said.content, str):
        return said.content or ""
    return "\n".join(part.text for part in said.content)


class ChatScript(Script[Request, Completion]):
    """`asides` are requests for a title or a summary; what they are answered is always the same."""

    def __init__(self) -> None:
        super().__init__(say("Nothing more was scripted."))
        self.asides: list[Request] = []

    def take(self, request: Request) -> Completion:
        if request.is_aside:
            self.asides.append(request)
            return say("A scripted title")
        return super().take(request)


def usage() -> dict[str, object]:
    """As the API tells it."""
    return {
        "prompt_tokens": USAGE["input_tokens"],
        "completion_tokens": USAGE["output_tokens"],
        "total_tokens": USAGE["input_tokens"] + USAGE["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": USAGE["cached_tokens"]},
        "completion_tokens_details": {"reasoning_tokens": USAGE["reasoning_tokens"]},
    }


def images(requests: Sequence[Request]) -> list[str]:
    """The images that reached the model."""
    contents = [said.content for request in requests for said in request.messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part.image_url.url for part in parts if part.image_url]
