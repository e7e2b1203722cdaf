"""The HTTP server and the streaming that all scripted model APIs share."""

import socket
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar, cast

import msgspec
from msgspec import Struct

from tests.scripted.script import Script, ScriptedReply, ScriptedRequest

#: A held reply goes on after this time, so that a test that forgot to release it fails and does not hang.
HOLD_LIMIT_SECONDS = 180.0


class Failure(Struct, frozen=True, kw_only=True):
    """An HTTP error in place of a reply. With status 200 the Responses API sends it as an event."""

    status: int
    code: str
    message: str
    headers: dict[str, str] = {}


class ModelReply(ScriptedReply, kw_only=True):
    """After `held` deltas the stream waits for `release`; after `cut` deltas the connection breaks."""

    failure: Failure | None = None
    held: int | None = None
    cut: int | None = None


Q = TypeVar("Q", bound=ScriptedRequest)
R = TypeVar("R", bound=ModelReply)


class Http(ThreadingHTTPServer):
    """`owner` is what the handlers serve."""

    daemon_threads = True
    block_on_close = False
    owner: object

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignored: some tests are about an agent that hangs up in the middle of a reply."""


class LoopbackServer:
    """Serves HTTP on loopback while it is a context manager's value. A free port is taken if none is given."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], owner: object, port: int = 0) -> None:
        self._http = Http(("127.0.0.1", port), handler)
        self._http.owner = owner
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._http.shutdown()
        self.hang_up()
        self._http.server_close()
        self._thread.join()

    def release(self) -> None:
        """Called before the server stops: replies that are held go on."""

    def hang_up(self) -> None:
        """Called when no new connection can come: connections that stay open are closed."""


class ModelServer(LoopbackServer, Generic[Q, R]):
    """A model's API, implemented by `handler`. Agents are pointed at `url`."""

    def __init__(self, script: Script[Q, R], handler: "type[ModelHandler[Q, R]]", path: str = "") -> None:
        super().__init__(handler, script)
        self.script = script
        self.url += path

    def release(self) -> None:
        self.script.release_all()

    @property
    def requests(self) -> list[Q]:
        """The requests of agents, in order."""
        return self.script.requests


class JsonHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""

    @property
    def owner(self) -> object:
        return cast(Http, self.server).owner

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def json(self, status: int, answer: object, headers: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Cut(Exception):
    """The script breaks the connection here."""


class ModelHandler(JsonHandler, ABC, Generic[Q, R]):
    """Answers `endpoint` from the script. A subclass implements `stream`."""

    endpoint: ClassVar[str]

    @property
    def script(self) -> Script[Q, R]:
        return cast(Script[Q, R], self.owner)

    @abstractmethod
    def request_of(self, body: bytes) -> Q: ...

    @abstractmethod
    def stream(self, request: Q, reply: R) -> None:
        """Sends the events of a reply, with a call of `pace` before each delta."""

    def error(self, failure: Failure) -> dict[str, object]:
        """The body of an HTTP error."""
        return {"error": {"message": failure.message, "type": failure.code, "code": failure.code}}

    def do_GET(self) -> None:
        self.json(404, self.error(Failure(status=404, code="not_found_error", message=self.path)))

    def do_POST(self) -> None:
        body = self.body()
        if self.path.partition("?")[0].endswith(self.endpoint):
            self.answer(self.request_of(body))
        else:
            self.do_GET()

    def answer(self, request: Q) -> None:
        reply = self.script.take(request)
        failure = reply.failure
        if failure and failure.status != 200:
            self.json(failure.status, self.error(failure), failure.headers)
        else:
            self.send(request, reply)

    def send(self, request: Q, reply: R) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self.stream(request, reply)
            self.chunk(b"")
        except _Cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def pace(self, reply: R, sent: int) -> None:
        """Holds or cuts the stream after `sent` deltas, if the script says so."""
        if sent == reply.held:
            reply.release.wait(HOLD_LIMIT_SECONDS)
        if sent == reply.cut:
            raise _Cut

    def event(self, data: dict[str, object], type: str | None = None) -> None:
        name = f"event: {type}\n" if type else ""
        self.chunk(f"{name}data: ".encode() + msgspec.json.encode(data) + b"\n\n")

    def chunk(self, body: bytes) -> None:
        """An empty one ends the stream."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()
