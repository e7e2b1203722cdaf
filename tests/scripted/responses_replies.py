"""Requests and replies of the scripted Responses API (`responses_server.py`)."""

import json
import secrets
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from everyagent.model.parts import Json
from tests.scripted.model_server import Failure, ModelReply
from tests.scripted.script import DEFAULT_TEXT, Script, pieces, since_last

USAGE = {"input_tokens": 120, "cached_tokens": 20, "output_tokens": 30, "reasoning_tokens": 5}
_MODEL_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "reasoning", "web_search_call", "tool_search_call", "local_shell_call"}
)


class Delta(Struct, frozen=True):
    """An event of the stream that adds to an item: its type and its fields without the ids."""

    type: str
    fields: dict[str, object]


class Output(Struct, frozen=True, kw_only=True):
    """An output item: its start, its deltas, and its final form."""

    start: dict[str, object]
    deltas: list[Delta] = []
    whole: dict[str, object]


class Response(ModelReply, kw_only=True):
    """`id` is the response's; a new one is made if it is empty."""

    id: str = ""
    outputs: list[Output] = field(default_factory=list[Output])


def say(
    text: str, *, when: str = "", held: int | None = None, cut: int | None = None, phase: str | None = None
) -> Response:
    return Response(outputs=[_message(text, phase)], when=when, held=held, cut=cut)


def think(thought: str, text: str, *, when: str = "") -> Response:
    return Response(outputs=[_reasoning(thought), _message(text, None)], when=when)


def run(command: str, *, when: str = "", **more: Json) -> Response:
    """A call of the shell tool."""
    return call("exec_command", {"cmd": command, **more}, when=when)


def patch(text: str, *, when: str = "") -> Response:
    """A change of files. `text` is in the format of `apply_patch`."""
    return custom("apply_patch", text, when=when)


def custom(tool: str, input: str, *, when: str = "") -> Response:
    """A call of a tool whose input is free text."""
    start: dict[str, object] = {**_call_ids("custom_tool_call"), "name": tool, "input": ""}
    deltas = [Delta("response.custom_tool_call_input.delta", {"delta": piece}) for piece in pieces(input, 20)]
    whole = {**start, "input": input, "status": "completed"}
    return Response(outputs=[Output(start=start, deltas=deltas, whole=whole)], when=when)


def call(tool: str, input: Mapping[str, Json], *, namespace: str | None = None, when: str = "") -> Response:
    """A call of a function. Those of an MCP server have the namespace `mcp__<server>`."""
    arguments = json.dumps(dict(input))
    start: dict[str, object] = {**_call_ids("function_call"), "name": tool, "arguments": ""}
    if namespace:
        start["namespace"] = namespace
    deltas = [Delta("response.function_call_arguments.delta", {"delta": piece}) for piece in pieces(arguments, 40)]
    whole = {**start, "arguments": arguments, "status": "completed"}
    return Response(outputs=[Output(start=start, deltas=deltas, whole=whole)], when=when)


def joined(*replies: Response, when: str = "") -> Response:
    """All outputs in one response."""
    return Response(outputs=[output for reply in replies for output in reply.outputs], when=when)


def search(query: str, *, when: str = "") -> Response:
    item: dict[str, object] = {"type": "web_search_call", "id": _id("ws"), "action": {"type": "search", "query": query}}
    output = Output(start={**item, "status": "in_progress"}, whole={**item, "status": "completed"})
    return Response(outputs=[output], when=when)


def fail(
    status: int, code: str, message: str = "Scripted failure", *, times: int = 1, headers: dict[str, str] | None = None
) -> Response:
    return Response(failure=Failure(status=status, code=code, message=message, headers=headers or {}), times=times)


def numbered(reply: Response) -> Response:
    """The reply with ids that count from 1, as some gateways number every response."""
    outputs: list[Output] = []
    for number, output in enumerate(reply.outputs, 1):
        ids: dict[str, object] = {
            name: f"{str(output.start[name]).partition('_')[0]}_{number}"
            for name in ("id", "call_id")
            if name in output.start
        }
        outputs.append(replace(output, start={**output.start, **ids}, whole={**output.whole, **ids}))
    return replace(reply, id="resp_1", outputs=outputs)


def _message(text: str, phase: str | None) -> Output:
    start: dict[str, object] = {"type": "message", "id": _id("msg"), "role": "assistant", "content": []}
    if phase:
        start["phase"] = phase
    deltas = [Delta("response.output_text.delta", {"content_index": 0, "delta": piece}) for piece in pieces(text, 8)]
    content: list[object] = [{"type": "output_text", "text": text, "annotations": []}]
    return Output(start=start, deltas=deltas, whole={**start, "status": "completed", "content": content})


def _reasoning(thought: str) -> Output:
    start: dict[str, object] = {"type": "reasoning", "id": _id("rs"), "summary": []}
    part = {"type": "summary_text", "text": ""}
    deltas = [Delta("response.reasoning_summary_part.added", {"summary_index": 0, "part": part})]
    deltas += [
        Delta("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": piece})
        for piece in pieces(thought, 8)
    ]
    summary = [{"type": "summary_text", "text": thought}]
    return Output(start=start, deltas=deltas, whole={**start, "summary": summary, "encrypted_content": "c2VjcmV0"})


def _call_ids(type: str) -> dict[str, object]:
    return {"type": type, "id": _id("fc"), "call_id": _id("call")}


def _id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


class Content(Struct, frozen=True):
    type: str = ""
    text: str = ""
    image_url: str | None = None


class InputItem(Struct, frozen=True):
    type: str = "message"
    role: str = ""
    content: str | list[Content] | None = None
    output: str | list[Content] | dict[str, object] | None = None

    @property
    def is_from_model(self) -> bool:
        return self.type in _MODEL_ITEMS or self.role == "assistant"


class Request(Struct, frozen=True):
    """A request of an agent to the model."""

    model: str = ""
    input: list[InputItem] = []
    instructions: str | None = None
    reasoning: dict[str, object] | None = None
    tools: list[object] = []

    @property
    def new_text(self) -> str:
        """The text of the user and of tools since the model's last output."""
        new = since_last(self.input, lambda item: item.is_from_model)
        return "\n".join(text_of(item) for item in new if item.role != "developer")

    @property
    def everything(self) -> str:
        return "\n".join(text_of(item) for item in self.input)


def text_of(item: InputItem) -> str:
    """All text of an input item."""
    texts: list[str] = []
    for content in (item.content, item.output):
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
    return Script(say(DEFAULT_TEXT))


def usage() -> dict[str, object]:
    """`USAGE` in the form of this API."""
    return {
        "input_tokens": USAGE["input_tokens"],
        "input_tokens_details": {"cached_tokens": USAGE["cached_tokens"]},
        "output_tokens": USAGE["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": USAGE["reasoning_tokens"]},
        "total_tokens": USAGE["input_tokens"] + USAGE["output_tokens"],
    }


def images(requests: Sequence[Request]) -> list[str]:
    """The URLs of all images in the requests."""
    parts = [part for request in requests for item in request.input for part in _contents(item)]
    return [part.image_url for part in parts if part.image_url]


def _contents(item: InputItem) -> list[Content]:
    found: list[Content] = []
    for content in (item.content, item.output):
        if isinstance(content, list):
            found += content
    return found
