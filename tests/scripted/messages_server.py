"""A scripted Messages API on loopback, for agents that use Anthropic's models."""

import secrets

import msgspec

from tests.scripted.messages_replies import USAGE, MessagesScript, Reply, Request
from tests.scripted.model_server import Failure, ModelHandler, ModelServer

_requests = msgspec.json.Decoder(Request)


class MessagesServer(ModelServer[Request, Reply]):
    """`with MessagesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        super().__init__(MessagesScript(), _Handler)


class _Handler(ModelHandler[Request, Reply]):
    endpoint = "/v1/messages"

    def request_of(self, body: bytes) -> Request:
        return _requests.decode(body)

    def error(self, failure: Failure) -> dict[str, object]:
        return {"type": "error", "error": {"type": failure.code, "message": failure.message}}

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        if self.path.partition("?")[0] == "/v1/messages/count_tokens":
            self.json(200, {"input_tokens": max(1, len(self.body()) // 4)})
        else:
            super().do_POST()

    def send(self, request: Request, reply: Reply) -> None:
        if request.stream:
            super().send(request, reply)
        else:
            self.json(200, _message(request, reply) | {"content": [block.whole for block in reply.blocks]})

    def stream(self, request: Request, reply: Reply) -> None:
        self._typed(type="message_start", message=_message(request, reply) | {"stop_reason": None})
        sent = 0
        for index, block in enumerate(reply.blocks):
            self._typed(type="content_block_start", index=index, content_block=block.start)
            for delta in block.deltas:
                self.pace(reply, sent)
                sent += 1
                self._typed(type="content_block_delta", index=index, delta=delta)
            self._typed(type="content_block_stop", index=index)
        ended = {"stop_reason": reply.stop_reason, "stop_sequence": None}
        self._typed(type="message_delta", delta=ended, usage=USAGE | reply.usage)
        self._typed(type="message_stop")

    def _typed(self, *, type: str, **fields: object) -> None:
        self.event({"type": type, **fields}, type)


def _message(request: Request, reply: Reply) -> dict[str, object]:
    return {
        "id": reply.id or f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": USAGE | reply.usage,
    }
