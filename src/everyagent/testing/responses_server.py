"""A scripted Responses API on loopback, for agents that talk to OpenAI's models: no key, no network, no chance."""

import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import msgspec

from everyagent.testing.scripted_responses import Request, Response, Script, usage

#: A response that is held goes on after this, so that a test that forgot it fails and does not hang.
HOLD_LIMIT_SECONDS = 60.0

_requests = msgspec.json.Decoder(Request)


class ResponsesServer:
    """`with ResponsesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        self.script = Script()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.script = self.script
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> "ResponsesServer":
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
        """An agent that hangs up in the middle of a response is what some tests are about."""


class _Cut(Exception):
    """The script says that the connection breaks here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print enough."""

    def do_GET(self) -> None:
        """No websockets, no list of models."""
        status = 426 if self.headers.get("upgrade") else 404
        self._json(status, {"error": {"message": self.path}}, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.partition("?")[0].endswith("/responses"):
            self._respond(_requests.decode(body))
        else:
            self.do_GET()

    def _respond(self, request: Request) -> None:
        response = self.server.script.take(request)
        failure = response.failure
        if failure and failure.status != 200:
            error = {"message": failure.message, "type": failure.code, "code": failure.code}
            self._json(failure.status, {"error": error}, failure.headers)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self._stream(request, response)
            self._chunk(b"")
        except _Cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, request: Request, response: Response) -> None:
        whole: dict[str, object] = {"id": f"resp_{secrets.token_hex(8)}", "object": "response", "model": request.model}
        self._event("response.created", response={**whole, "status": "in_progress", "output": []})
        if failure := response.failure:
            error = {"code": failure.code, "message": failure.message}
            self._event("response.failed", response={**whole, "status": "failed", "error": error})
            return
        sent = 0
        for index, output in enumerate(response.outputs):
            place = {"output_index": index, "item_id": output.start["id"]}
            self._event("response.output_item.added", output_index=index, item=output.start)
            for delta in output.deltas:
                if sent == response.held:
                    response.release.wait(HOLD_LIMIT_SECONDS)
                if sent == response.cut:
                    raise _Cut
                sent += 1
                self._event(delta.type, **place, **delta.fields)
            self._event("response.output_item.done", output_index=index, item=output.whole)
        self._event("response.completed", response={**whole, "status": "completed", "output": [], "usage": usage()})

    def _event(self, type: str, **fields: object) -> None:
        self._chunk(f"event: {type}\ndata: ".encode() + msgspec.json.encode({"type": type, **fields}) + b"\n\n")

    def _chunk(self, body: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()

    def _json(self, status: int, answer: dict[str, object], headers: dict[str, str]) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
