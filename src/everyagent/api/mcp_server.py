"""MCP over HTTP for tools: protocol revisions, batches and errors (streamable HTTP, plain JSON responses).

Stateless: a request needs no session of the protocol. `universal/custom_tools.py` serves a session's tools with it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

import anyio
import msgspec
from msgspec import UNSET, Struct, UnsetType

from everyagent import __version__
from everyagent.api.response import Response
from everyagent.model.asks import ToolImage
from everyagent.model.parts import Json
from everyagent.model.tools import CustomTool

#: The revision without a handshake: every request describes itself, and results say that they are complete.
STATELESS: Final = "2026-07-28"
#: Supported revisions, newest first. A client that asks `initialize` for another one gets the newest of these.
HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
REVISIONS: Final = (STATELESS, *HANDSHAKE)
MAX_BATCH: Final = 50

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_UNSUPPORTED_VERSION = -32022
_CAPABILITIES: dict[str, object] = {"tools": {}}
_SERVER = {"name": "everyagent", "version": __version__}
#: Results may differ from one request to the next, so a client must not keep them.
_UNCACHED: dict[str, object] = {"ttlMs": 0, "cacheScope": "private"}


class RpcCall(Struct, frozen=True):
    """A JSON-RPC request, or a notification if it has no `id`."""

    jsonrpc: Literal["2.0"]
    method: str
    id: int | str | None = None
    params: dict[str, Json] = {}


class RpcAnswer(Struct, frozen=True, kw_only=True):
    id: int | str | None
    jsonrpc: Literal["2.0"] = "2.0"
    result: Json | UnsetType = UNSET
    error: Json | UnsetType = UNSET


class RpcError(Exception):
    """A protocol error. `status` is the HTTP status under the stateless revision, and of errors without a request."""

    def __init__(self, code: int, message: str, *, status: int = 400, data: Json = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, object] = {"code": code, "message": message, **({"data": data} if data else {})}


class ToolServer(Struct, frozen=True):
    """The tools that a client sees, and the function that calls one of them."""

    tools: Sequence[CustomTool]
    call: Callable[[str, Json], Awaitable[dict[str, object]]]


_REQUESTS: "msgspec.json.Decoder[RpcCall | list[RpcCall]]" = msgspec.json.Decoder(RpcCall | list[RpcCall])


async def respond(server: ToolServer, body: bytes, revision: str | None) -> Response:
    """Answer a POST. `revision` is its `MCP-Protocol-Version` header, which clients before 2025-06-18 do not send."""
    try:
        requests = _requests(body, revision)
    except RpcError as error:
        return _json(RpcAnswer(id=None, error=error.body), error.status)
    if isinstance(requests, list):
        answers = await _batch(server, [request for request in requests if request.id is not None])
        return _json(answers) if answers else Response(status_code=202)
    if requests.id is None:
        return Response(status_code=202)
    return await _one(server, requests, stateless=revision == STATELESS)


def tool_result(text: str, *, failed: bool, images: Sequence[ToolImage] = ()) -> dict[str, object]:
    content: list[object] = [{"type": "text", "text": text}] if text or not images else []
    content += [{"type": "image", "data": image.data, "mimeType": image.mime} for image in images]
    return {"content": content, "isError": failed}


def _requests(body: bytes, revision: str | None) -> RpcCall | list[RpcCall]:
    if revision is not None and revision not in REVISIONS:
        data: Json = {"supported": list(REVISIONS), "requested": revision}
        message = f"The protocol version {revision!r} is not supported. Use one of: {', '.join(REVISIONS)}."
        raise RpcError(_UNSUPPORTED_VERSION, message, data=data)
    try:
        found = _REQUESTS.decode(body)
    except msgspec.ValidationError as error:
        raise RpcError(_INVALID_REQUEST, f"The body is not a JSON-RPC request: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RpcError(_PARSE_ERROR, f"The body is not JSON: {error}.") from None
    if isinstance(found, list):
        if revision not in (None, "2025-03-26"):
            raise RpcError(_INVALID_REQUEST, f"Batches are not part of the protocol version {revision}.")
        if not 0 < len(found) <= MAX_BATCH:
            raise RpcError(_INVALID_REQUEST, f"A batch has 1 to {MAX_BATCH} requests.")
    return found


async def _batch(server: ToolServer, requests: list[RpcCall]) -> list[RpcAnswer]:
    """The answers in the order of the requests, which are handled at the same time."""
    answers: dict[int, RpcAnswer] = {}

    async def answer(position: int, request: RpcCall) -> None:
        answers[position] = (await _answered(server, request, stateless=False))[0]

    async with anyio.create_task_group() as tasks:
        for position, request in enumerate(requests):
            tasks.start_soon(answer, position, request)
    return [answers[position] for position in range(len(requests))]


async def _one(server: ToolServer, request: RpcCall, *, stateless: bool) -> Response:
    answer, status = await _answered(server, request, stateless=stateless)
    return _json(answer, status if stateless else 200)


async def _answered(server: ToolServer, request: RpcCall, *, stateless: bool) -> tuple[RpcAnswer, int]:
    try:
        result = await (_stateless_result(server, request) if stateless else _result(server, request))
    except RpcError as error:
        return RpcAnswer(id=request.id, error=error.body), error.status
    return RpcAnswer(id=request.id, result=result), 200


async def _stateless_result(server: ToolServer, request: RpcCall) -> Json:
    match request.method:
        case "server/discover":
            result: dict[str, object] = {
                "supportedVersions": list(REVISIONS),
                "capabilities": _CAPABILITIES,
                "_meta": {"io.modelcontextprotocol/serverInfo": _SERVER},
                **_UNCACHED,
            }
        case "tools/list":
            result = {"tools": [_definition(tool) for tool in server.tools], **_UNCACHED}
        case "tools/call":
            result = await _called(server, request.params)
        case method:
            raise RpcError(_METHOD_NOT_FOUND, f"There is no method {method}.", status=404)
    return {"resultType": "complete"} | result


async def _result(server: ToolServer, request: RpcCall) -> Json:
    match request.method:
        case "initialize":
            asked = request.params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[0],
                "capabilities": _CAPABILITIES,
                "serverInfo": _SERVER,
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [_definition(tool) for tool in server.tools]}
        case "tools/call":
            return await _called(server, request.params)
        case method:
            raise RpcError(_METHOD_NOT_FOUND, f"There is no method {method}.")


async def _called(server: ToolServer, params: dict[str, Json]) -> dict[str, object]:
    name, known = params.get("name"), [tool.name for tool in server.tools]
    if not isinstance(name, str) or name not in known:
        raise RpcError(_INVALID_PARAMS, f"There is no tool {name!r}. There is: {', '.join(known) or 'none'}.")
    return await server.call(name, params.get("arguments"))


def _definition(tool: CustomTool) -> Json:
    schema: dict[str, object] = {"type": "object", **tool.input_schema}
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}


def _json(answer: RpcAnswer | list[RpcAnswer], status: int = 200) -> Response:
    return Response(msgspec.json.encode(answer), status, media_type="application/json")
