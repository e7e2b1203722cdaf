"""A scripted Chat Completions API on loopback, for agents that use any model."""

import secrets

import msgspec

from tests.scripted.chat_replies import ChatScript, Completion, Request, usage
from tests.scripted.model_server import ModelHandler, ModelServer

_requests = msgspec.json.Decoder(Request)


class ChatServer(ModelServer[Request, Completion]):
    """`with ChatServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    script: ChatScript

    def __init__(self) -> None:
        super().__init__(ChatScript(), _Handler, "/v1")


class _Handler(ModelHandler[Request, Completion]):
    endpoint = "/chat/completions"

    def request_of(self, body: bytes) -> Request:
        return _requests.decode(body)

    def stream(self, request: Request, reply: Completion) -> None:
        head: dict[str, object] = {
            "id": f"chatcmpl-{secrets.token_hex(8)}",
            "object": "chat.completion.chunk",
            "model": request.model,
        }
        self._choice(head, {"role": "assistant", "content": ""})
        for sent, delta in enumerate(reply.deltas):
            self.pace(reply, sent)
            self._choice(head, delta)
        self._choice(head, {}, reply.finish)
        self.event({**head, "choices": [], "usage": usage()})
        self.chunk(b"data: [DONE]\n\n")

    def _choice(self, head: dict[str, object], delta: dict[str, object], finish: str | None = None) -> None:
        self.event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
