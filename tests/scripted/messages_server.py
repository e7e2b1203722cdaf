"""A scripted Messages API on loopback, for agents that talk to Anthropic's models: no key, no network, no chance."""

import secrets

import msgspec

from tests.scripted import scripted_replies
from tests.scripted.scripted_replies import USAGE, Reply, Request
from tests.scripted.scripted_server import HOLD_LIMIT_SECONDS, ScriptedHandler, ScriptedServer

_requests = msgspec.json.Decoder(Request)


class MessagesServer(ScriptedServer[Request, Reply]):
    """`with MessagesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        super().__init__(scripted_replies.script(), _Handler)


class _Handler(ScriptedHandler[Request, Reply]):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

    def do_POST(self) -> None:
        body = self.body()
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self.json(200, {"input_tokens": max(1, len(body) // 4)})
        elif path == "/v1/messages":
            self._messages(_requests.decode(body))
        else:
            self.do_GET()

    def _messages(self, request: Request) -> None:
        reply = self.script.take(request)
        if reply.failure:
            error = {"type": reply.failure.type, "message": reply.failure.message}
            self.json(reply.failure.status, {"type": "error", "error": error})
        elif request.stream:
            self._stream(request, reply)
        else:
            self.json(200, _message(request, reply) | {"content": [block.whole for block in reply.blocks]})

    def _stream(self, request: Request, reply: Reply) -> None:
        self.begin_stream()
        begun = _message(request, reply) | {"stop_reason": None}
        self._event({"type": "message_start", "message": begun})
        left = reply.held
        for index, block in enumerate(reply.blocks):
            self._event({"type": "content_block_start", "index": index, "content_block": block.start})
            for delta in block.deltas:
                if left == 0:
                    reply.release.wait(HOLD_LIMIT_SECONDS)
                left = None if left is None else left - 1
                self._event({"type": "content_block_delta", "index": index, "delta": delta})
            self._event({"type": "content_block_stop", "index": index})
        ended = {"stop_reason": reply.stop_reason, "stop_sequence": None}
        self._event({"type": "message_delta", "delta": ended, "usage": USAGE | reply.usage})
        self._event({"type": "message_stop"})
        self.chunk(b"")

    def _event(self, event: dict[str, object]) -> None:
        self.chunk(f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n")


def _message(request: Request, reply: Reply) -> dict[str, object]:
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": USAGE | reply.usage,
    }
