"""What a scripted model of the Responses API answers, and which request each answer is for.

Served by `responses_server.py`.
"""

import json
import secrets
import threading
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from everyagent.model.parts import Json
from tests.scripted.script import Script

USAGE = {"input_tokens": 120, "cached_tokens": 20, "output_tokens": 30, "reasoning_tokens": 5}
_MODEL_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "reasoning", "web_search_call", "tool_search_call", "local_shell_call"}
)


class Delta(Struct, frozen=True):
    """One event of the stream while an item grows: its type and its fields but for the ids."""

    type: str
    fields: dict[str, object]


class Output(Struct, frozen=True, kw_only=True):
    """One output item: `start` as it begins, `deltas` as they come, `whole` as it is in the end."""

    start: dict[str, object]
    deltas: list[Delta] = []
    whole: dict[str, object]


class Failure(Struct, frozen=True, kw_only=True):
    """A status other than 200 or, with status 200, a `response.failed` in the stream."""

    status: int
    code: str
    message: str
    headers: dict[str, str] = {}


class Response(Struct, kw_only=True):
    """`when` must be in what was said since the model's last output. `held` deltas are streamed, then none until
    `release` is set; after `cut` deltas the connection breaks. It is given `times` times.
    """

    outputs: list[Output] = []
    when: str = ""
    failure: Failure | None = None
    held: int | None = None
    cut: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    times: int = 1


def say(
    text: str, *, when: str = "", held: int | None = None, cut: int | None = None, phase: str | None = None
) -> Response:
    return Response(outputs=[_message(text, phase)], when=when, held=held, cut=cut)


def think(thought: str, text: str, *, when: str = "") -> Response:
    return Response(outputs=[_reasoning(thought), _message(text, None)], when=when)


def run(command: str, *, when: str = "", **more: Json) -> Response:
    """The model runs a command."""
    return call("exec_command", {"cmd": command, **more}, when=when)


def patch(text: str, *, when: str = "") -> Response:
    """The model changes files: `text` is in the format of `apply_patch`."""
    return custom("apply_patch", text, when=when)


def custom(tool: str, input: str, *, when: str = "") -> Response:
    """The model calls a tool that takes free text."""
    start: dict[str, object] = {**_call_ids("custom_tool_call"), "name": tool, "input": ""}
    deltas = [Delta("response.custom_tool_call_input.delta", {"delta": piece}) for piece in _pieces(input, 20)]
    whole = {**start, "input": input, "status": "completed"}
    return Response(outputs=[Output(start=start, deltas=deltas, whole=whole)], when=when)


def call(tool: str, input: Mapping[str, Json], *, namespace: str | None = None, when: str = "") -> Response:
    """The model calls a function; those of an MCP server have the namespace `mcp__<server>`."""
    arguments = json.dumps(dict(input))
    start: dict[str, object] = {**_call_ids("function_call"), "name": tool, "arguments": ""}
    if namespace:
        start["namespace"] = namespace
    deltas = [Delta("response.function_call_arguments.delta", {"delta": piece}) for piece in _pieces(arguments, 40)]
    whole = {**start, "arguments": arguments, "status": "completed"}
    return Response(outputs=[Output(start=start, deltas=deltas, whole=whole)], when=when)


def search(query: str, *, when: str = "") -> Response:
    item: dict[str, object] = {"type": "web_search_call", "id": _id("ws"), "action": {"type": "search", "query": query}}
    output = Output(start={**item, "status": "in_progress"}, whole={**item, "status": "completed"})
    return Response(outputs=[output], when=when)


def fail(
    status: int, code: str, message: str = "Scripted failure", *, times: int = 1, headers: dict[str, str] | None = None
) -> Response:
    return Response(failure=Failure(status=status, code=code, message=message, headers=headers or {}), times=times)


def _message(text: str, phase: str | None) -> Output:
    start: dict[str, object] = {"type": "message", "id": _id("msg"), "role": "assistant", "content": []}
    if phase:
        start["phase"] = phase
    deltas = [Delta("response.output_text.delta", {"content_index": 0, "delta": piece}) for piece in _pieces(text, 8)]
    content: list[object] = [{"type": "output_text", "text": text, "annotations": []}]
    return Output(start=start, deltas=deltas, whole={**start, "status": "completed", "content": content})


def _reasoning(thought: str) -> Output:
    start: dict[str, object] = {"type": "reasoning", "id": _id("rs"), "summary": []}
    part = {"type": "summary_text", "text": ""}
    deltas = [Delta("response.reasoning_summary_part.added", {"summary_index": 0, "part": part})]
    deltas += [
        Delta("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": piece})
        for piece in _pieces(thought, 8)
    ]
    summary = [{"type": "summary_text", "text": thought}]
    return Output(start=start, deltas=deltas, whole={**start, "summary": summary, "encrypted_content": "c2VjcmV0"})


def _call_ids(type: str) -> dict[str, object]:
    return {"type": type, "id": _id("fc"), "call_id": _id("call")}


def _id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


class Content(Struct, frozen=True):
    type: str = ""
    text: str = ""
    image_url: str | None = None


class Said(Struct, frozen=True):
    type: str = "message"
    role: str = ""
    content: str | list[Content] | None = None
    output: str | list[Content] | dict[str, object] | None = None

    @property
    def by_model(self) -> bool:
        return self.type in _MODEL_ITEMS or self.role == "assistant"


class Request(Struct, frozen=True):
    """What the agent sent to the model."""

    model: str = ""
    input: list[Said] = []
    instructions: str | None = None
    reasoning: dict[str, object] | None = None
    tools: list[object] = []

    @property
    def news(self) -> str:
        """What the user and the tools said since the model's last output."""
        since: list[str] = []
        for said in reversed(self.input):
            if said.by_model:
                break
            if said.role != "developer":
                since.append(words(said))
        return "\n".join(reversed(since))

    @property
    def everything(self) -> str:
        return "\n".join(words(said) for said in self.input)


def words(said: Said) -> str:
    """All text in it."""
    texts: list[str] = []
    for content in (said.content, said.output):
        match content:
            case str():
                texts.append(content)
            case list():
                texts += [each.text for each in content]
            case dict():
                texts.append(json.dumps(content))
            case None:
                continue
    return "\n".join(texts)


def script() -> Script[Request, Response]:
    return Script(say("Nothing more was scripted."))


def usage() -> dict[str, object]:
    """As the API tells it."""
    return {
        "input_tokens": USAGE["input_tokens"],
        "input_tokens_details": {"cached_tokens": USAGE["cached_tokens"]},
        "output_tokens": USAGE["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": USAGE["reasoning_tokens"]},
        "total_tokens": USAGE["input_tokens"] + USAGE["output_tokens"],
    }


def images(requests: Sequence[Request]) -> list[str]:
    """The images that reached the model."""
    parts = [part for request in requests for said in request.input for part in _contents(said)]
    return [part.image_url for part in parts if part.image_url]


def _contents(said: Said) -> list[Content]:
    found: list[Content] = []
    for content in (said.content, said.output):
        if isinstance(content, list):
            found += content
    return found
