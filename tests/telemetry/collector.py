"""An OpenTelemetry collector on loopback: takes OTLP over HTTP, decoded with OpenTelemetry's own messages."""

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Taken(NamedTuple):
    """A span. `id`, `parent` and `trace` are hexadecimal; `parent` is empty for none."""

    trace: str
    id: str
    parent: str
    name: str
    kind: str
    start: int
    end: int
    failed: bool
    attributes: dict[str, Any]
    events: list[str]


class Collector:
    """`status` is what it answers. `bodies` are the requests that it took; `headers` are those of the last one."""

    def __init__(self) -> None:
        self.status = 200
        self.bodies: list[bytes] = []
        self.headers: dict[str, str] = {}
        self.attempts = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spans(self) -> list[Taken]:
        return [span for body in list(self.bodies) for span in _decoded(body)]

    def named(self, name: str) -> list[Taken]:
        return [span for span in self.spans() if span.name == name]


def _decoded(body: bytes) -> list[Taken]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Taken(
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.name,
            type(span).SpanKind.Name(span.kind),
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.status.code == span.status.STATUS_CODE_ERROR,
            {each.key: _value(each.value) for each in span.attributes},
            [event.name for event in span.events],
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _value(value: Any) -> Any:
    (kind, found), *_ = MessageToDict(value).items()
    if kind == "arrayValue":
        return [next(iter(each.values())) for each in found["values"]]
    return int(found) if kind == "intValue" else found


@contextmanager
def collecting(collector: Collector | None = None) -> Generator[Collector]:
    """With one that listened before, on its port again."""
    target = collector or Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            target.attempts += 1
            target.headers = {name.lower(): value for name, value in self.headers.items()}
            if target.status == 200 and self.path == "/v1/traces":
                target.bodies.append(body)
            self.send_response(target.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

    server = Server(("127.0.0.1", target.port), Handler)
    target.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield target
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
