"""An MCP server over HTTP with one tool: the sum of two numbers."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
TOOL = {"name": "add", "description": "Adds two numbers", "inputSchema": NUMBERS}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Bun reuses connections, also those that a server of HTTP/1.0 closes

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        if "id" not in message:
            return self._answer(202, b"")
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "sums", "version": "1"}
                result: object = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                given = message["params"]["arguments"]
                result = {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}
            case _:
                result = {}
        self._answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def do_GET(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        self._answer(200, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def sums_stage() -> Generator[str]:
    """Yields the server's address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()
