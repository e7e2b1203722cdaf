"""A model's API on loopback that answers what a script says: what the servers of all such APIs share."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

import msgspec

from tests.scripted.script import Answered, Asked, Script

#: An answer that is held goes on after this, so that a test that forgot it fails and does not hang.
HOLD_LIMIT_SECONDS = 60.0

Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Answered)


class ScriptedServer(Generic[Q, A]):
    """`with` it, agents are pointed at its `url`. `handler` speaks the API."""

    def __init__(self, script: Script[Q, A], handler: "type[ScriptedHandler[Q, A]]", path: str = "") -> None:
        self.script = script
        self._http = ScriptedHttp(("127.0.0.1", 0), handler)
        self._http.script = script
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}{path}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
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
    def requests(self) -> list[Q]:
        """What agents asked the model, in order."""
        return self.script.requests


class ScriptedHttp(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    script: object

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that hangs up in the middle of an answer is what some tests are about."""


class ScriptedHandler(BaseHTTPRequestHandler, Generic[Q, A]):
    protocol_version = "HTTP/1.1"

    @property
    def script(self) -> Script[Q, A]:
        assert isinstance(self.server, ScriptedHttp)
        return cast(Script[Q, A], self.server.script)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print enough."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, body: bytes) -> None:
        """An empty one ends the stream."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()

    def hang_up(self) -> None:
        """In the middle of the stream."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def json(self, status: int, answer: dict[str, object], headers: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
