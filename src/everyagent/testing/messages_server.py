"""A scripted Messages API on loopback, for agents that talk to Anthropic's models: no key, no network, no chance."""

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import msgspec

from everyagent.testing.scripted_replies import USAGE, Reply, Request, Script

#: A reply that is held goes on after this, so that a test that forgot it fails and does not hang.
HOLD_LIMIT_SECONDS = 60.0

_requests = msgspec.json.Decoder(Request)


class MessagesServer:
    """`with MessagesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        self.script = Script()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.script = self.script
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> "MessagesServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.script.release_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def requests(self) -> list[Request]:
        """What agents asked the model, in order."""
        return self.script.requests


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    script: Script

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that hangs up in the middle of a reply is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print enough."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": max(1, len(body) // 4)})
        elif path == "/v1/messages":
            self._messages(_requests.decode(body))
        else:
            self.do_GET()

    def _messages(self, request: Request) -> None:
        reply = self.server.script.take(request)
        if reply.failure:
            error = {"type": reply.failure.type, "message": reply.failure.message}
            self._json(reply.failure.status, {"type": "error", "error": error})
        elif request.stream:
            self._stream(request, reply)
        else:
            self._json(200, _message(request, reply) | {"content": [block.whole for block in reply.blocks]})

    def _stream(self, request: Request, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
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
        self._chunk(b"")

    def _event(self, event: dict[str, object]) -> None:
        self._chunk(f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n")

    def _chunk(self, body: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()

    def _json(self, status: int, answer: dict[str, object]) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


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
