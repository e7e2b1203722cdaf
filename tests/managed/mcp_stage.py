"""An MCP server behind OAuth, with a token endpoint."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class Stage(ThreadingHTTPServer):
    """`asked` are the tokens of requests. A refresh token works once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        self.renewals: list[dict[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Stage  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path == "/token":
            self._token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        else:
            self._mcp(json.loads(body))

    def _token(self, form: dict[str, str]) -> None:
        self.server.renewals.append(form)
        if not form.get("refresh_token", "").startswith("refresh-"):
            return self._answer(400, {"error": "invalid_grant", "sent": form})
        number = len(self.server.renewals)
        self._answer(
            200, {"access_token": f"fresh-{number}", "refresh_token": f"refresh-{number + 1}", "expires_in": 3600}
        )

    def _mcp(self, call: dict[str, object]) -> None:
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        self.server.asked.append(token)
        if not token.startswith("fresh-"):
            return self._answer(401, {"error": "invalid_token", "token": token})
        if "id" not in call:
            return self._answer(202, None)
        results: dict[str, object] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "stage", "version": "1"},
            },
            "tools/list": {"tools": []},
        }
        self._answer(200, {"jsonrpc": "2.0", "id": call["id"], "result": results.get(str(call["method"]), {})})

    def _answer(self, status: int, body: object) -> None:
        encoded = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def mcp_stage() -> Generator[Stage]:
    with Stage() as stage:
        thread = threading.Thread(target=stage.serve_forever, daemon=True)
        thread.start()
        yield stage
        stage.shutdown()
        thread.join()
