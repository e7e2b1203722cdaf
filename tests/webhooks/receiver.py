"""A receiver of webhooks on loopback. It keeps what came and can misbehave."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from standardwebhooks import Webhook


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def data(self) -> Any:
        return msgspec.json.decode(self.body)["data"]

    def verify(self, secret: str) -> None:
        Webhook(secret).verify(self.body, self.headers)


#: A status, or a fault. A redirect leads to the path `/redirected` of the same receiver.
Behaviour: TypeAlias = int | Literal["hang", "reset", "redirect"]


class Receiver:
    """`behave` decides what happens with a message; it is called before the message is kept."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.behave: Callable[[Received], Behaviour] = lambda received: 200
        self.released = threading.Event()
        self.port = 0

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def types(self, session: str = "") -> list[str]:
        """The types of the messages that came, of one session or of all, in order."""
        return [str(each.data["type"]) for each in list(self.received) if not session or each.data["id"] == session]

    def ids(self) -> list[str]:
        return [each.id for each in list(self.received)]


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Generator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            behaviour = receiver.behave(received)
            receiver.received.append(received)
            match behaviour:
                case "hang":
                    receiver.released.wait()
                    self.close_connection = True
                case "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                case "redirect":
                    self._answer(307, location=receiver.url("/redirected"))
                case int(status):
                    self._answer(status)

        def _answer(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in (headers | {"content-length": "0"}).items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
