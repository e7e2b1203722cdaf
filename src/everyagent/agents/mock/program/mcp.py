"""Minimal MCP client (streamable HTTP) that calls one of the session's custom tools."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import cast
from urllib.parse import urlsplit

PROTOCOL = "2025-06-18"


class McpError(Exception):
    pass


class McpClient:
    """Makes one call; `close`, from another thread, aborts it."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.netloc)
        self._socket: socket.socket | None = None
        self._closed = False
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **({"authorization": f"Bearer {token}"} if token else {}),
        }

    def call(self, name: str, arguments: object) -> tuple[str, bool]:
        """The tool's text, and whether the tool reports a failure."""
        try:
            client = {"name": "mock", "version": "1"}
            hello: dict[str, object] = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
            agreed = self._request(1, "initialize", hello)
            self._headers["mcp-protocol-version"] = str(agreed.get("protocolVersion", PROTOCOL))
            self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}).read()
            result = self._request(2, "tools/call", {"name": name, "arguments": arguments})
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise McpError(f"the session's tools cannot be reached: {error}") from error
        content = cast(list[dict[str, object]], result.get("content", []))
        texts = [
            f"({part.get('mimeType')})" if part.get("type") == "image" else part.get("text", "") for part in content
        ]
        return "".join(map(str, texts)), result.get("isError") is True

    def close(self) -> None:
        self._closed = True
        if self._socket:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _post(self, message: dict[str, object]) -> http.client.HTTPResponse:
        """Posts on a new connection: the response may be a stream that the server never ends."""
        self._connection.close()
        self._connection.connect()
        self._socket = self._connection.sock
        if self._closed:
            raise McpError("the call was broken off")
        self._connection.request("POST", self._path, json.dumps(message), self._headers)
        response = self._connection.getresponse()
        if response.status >= 400:
            raise McpError(f"{message['method']}: HTTP {response.status}: {response.read(2000).decode()}")
        if session := response.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        return response

    def _request(self, number: int, method: str, params: dict[str, object]) -> dict[str, object]:
        response = self._post({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for message in _messages(response):
            if message.get("id") != number:
                continue
            if error := message.get("error"):
                raise McpError(f"{method}: {json.dumps(error)}")
            return cast(dict[str, object], message.get("result", {}))
        raise McpError(f"{method}: the server did not answer")


def _messages(response: http.client.HTTPResponse) -> Iterator[dict[str, object]]:
    """The messages of a plain JSON body, or of an event stream."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        yield json.loads(response.read())
        return
    data: list[bytes] = []
    for line in response:
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif data and not line.strip():
            yield json.loads(b"\n".join(data))
            data = []
