"""A scripted Gemini API on loopback. Its replies are those of `chat_replies.py`, in the form of this API."""

import json
import secrets
from collections.abc import Mapping

import msgspec
from msgspec import Struct, field

from tests.scripted.chat_replies import USAGE, ChatScript, Completion, Message, Request
from tests.scripted.model_server import Failure, ModelHandler, ModelServer

#: The agent asks a small model which model to use, and wants JSON.
_ROUTED = (
    '{"model_choice": "flash", "reasoning": "scripted", "complexity_score": 1, "complexity_reasoning": "scripted"}'
)


class Part(Struct, frozen=True, rename="camel"):
    text: str = ""
    function_response: Mapping[str, object] | None = None
    inline_data: Mapping[str, str] | None = None


class Contents(Struct, frozen=True):
    role: str = "user"
    parts: list[Part] = field(default_factory=list[Part])


class GeminiRequest(Struct, frozen=True):
    contents: list[Contents] = field(default_factory=list[Contents])
    tools: list[object] = field(default_factory=list[object])


_requests = msgspec.json.Decoder(GeminiRequest)


class GeminiServer(ModelServer[Request, Completion]):
    """`with GeminiServer() as server: server.script.add(say("Hello."))`; the agent is pointed at `server.url`."""

    script: ChatScript

    def __init__(self) -> None:
        super().__init__(ChatScript(), _Handler)


class _Handler(ModelHandler[Request, Completion]):
    endpoint = "generateContent"

    def request_of(self, body: bytes) -> Request:
        given = _requests.decode(body)
        messages = [
            Message(role="assistant" if each.role == "model" else "user", content=_text(each))
            for each in given.contents
        ]
        return Request(model=self.path.rpartition("/")[2].partition(":")[0], messages=messages, tools=given.tools)

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith(":countTokens"):
            self.body()
            self.json(200, {"totalTokens": 10})
        elif path.endswith(":generateContent"):
            self.script.take(self.request_of(self.body()))
            self.json(200, _answer([{"text": _ROUTED}]))
        elif path.endswith(":streamGenerateContent"):
            self.answer(self.request_of(self.body()))
        else:
            self.do_GET()

    def error(self, failure: Failure) -> dict[str, object]:
        return {"error": {"code": failure.status, "message": failure.message, "status": failure.code}}

    def stream(self, request: Request, reply: Completion) -> None:
        calls: dict[int, list[str]] = {}
        for sent, delta in enumerate(reply.deltas):
            self.pace(reply, sent)
            for call in msgspec.convert(delta.get("tool_calls", []), list[dict[str, object]]):
                function = msgspec.convert(call["function"], dict[str, str])
                parts = calls.setdefault(msgspec.convert(call["index"], int), ["", ""])
                parts[0] += function.get("name", "")
                parts[1] += function.get("arguments", "")
            if text := delta.get("content"):
                self.event(_answer([{"text": text}], last=False))
            elif thought := delta.get("reasoning_content"):
                self.event(_answer([{"text": thought, "thought": True}], last=False))
        if calls:
            made: list[dict[str, object]] = [
                {"functionCall": {"name": name, "args": json.loads(arguments), "id": secrets.token_hex(4)}}
                for name, arguments in calls.values()
            ]
            self.event(_answer(made, last=False))
        self.event(_answer([{"text": ""}]))


def _answer(parts: list[dict[str, object]], *, last: bool = True) -> dict[str, object]:
    candidate: dict[str, object] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if not last:
        return {"candidates": [candidate]}
    usage = {
        "promptTokenCount": USAGE["input_tokens"],
        "candidatesTokenCount": USAGE["output_tokens"],
        "totalTokenCount": USAGE["input_tokens"] + USAGE["output_tokens"],
    }
    return {"candidates": [{**candidate, "finishReason": "STOP"}], "usageMetadata": usage}


def _text(contents: Contents) -> str:
    return "\n".join(
        part.text or json.dumps(part.function_response or part.inline_data or "") for part in contents.parts
    )
