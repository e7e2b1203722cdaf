"""The MCP server that offers a session's custom tools to its agent (streamable HTTP, plain JSON responses).

Each session has a separate token for it, so that agents never see the daemon's token.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from everyagent import __version__
from everyagent.api.routing import Accepted, Call, Encoded, Nothing, Routes, encoded
from everyagent.errors import SessionNotFound
from everyagent.model.asks import ToolImage
from everyagent.model.parts import Json
from everyagent.model.tools import CustomTool

routes = Routes("tools")
#: Supported protocol revisions, newest first. A client that asks for another one gets the newest.
REVISIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
_METHOD_NOT_FOUND = -32601


class RpcCall(Struct, frozen=True):
    """A JSON-RPC request, or a notification if it has no `id`."""

    jsonrpc: Literal["2.0"]
    method: str
    id: int | str | None = None
    params: dict[str, Json] = {}


class RpcAnswer(Struct, frozen=True, kw_only=True):
    id: int | str
    jsonrpc: Literal["2.0"] = "2.0"
    result: Json | UnsetType = UNSET
    error: Json | UnsetType = UNSET


@routes.add("POST", "/v1/sessions/{session_id}/mcp", SessionNotFound)
async def call_custom_tools(call: Call[Nothing, RpcCall]) -> Encoded[RpcAnswer] | Accepted:
    """Serve the session's custom tools to its agent over MCP. A tool call waits for the client's answer."""
    request = call.body
    tools = await call.sessions.tools(call.path["session_id"])
    if request.id is None:
        return Accepted()
    result = await _result(call, tools)
    if result is None:
        error: Json = {"code": _METHOD_NOT_FOUND, "message": f"There is no method {request.method}."}
        return encoded(RpcAnswer(id=request.id, error=error))
    return encoded(RpcAnswer(id=request.id, result=result))


async def _result(call: Call[Nothing, RpcCall], tools: list[CustomTool]) -> Json:
    params = call.body.params
    match call.body.method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "everyagent", "version": __version__},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [_tool_definition(tool) for tool in tools]}
        case "tools/call":
            name, known = params.get("name"), [tool.name for tool in tools]
            if not isinstance(name, str) or name not in known:
                return _tool_result(
                    f"This session has no tool {name!r}. Its tools: {', '.join(known) or 'none'}.", failed=True
                )
            answer = await call.sessions.call_tool(call.path["session_id"], name, params.get("arguments"))
            return _tool_result(
                answer.output or "", failed=answer.is_error or answer.output is None, images=answer.images
            )
        case _:
            return None


def _tool_definition(tool: CustomTool) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"type": "object", **tool.input_schema},
    }


def _tool_result(text: str, *, failed: bool, images: Sequence[ToolImage] = ()) -> Json:
    content: list[object] = [{"type": "text", "text": text}] if text or not images else []
    content += [{"type": "image", "data": image.data, "mimeType": image.mime} for image in images]
    return {"content": content, "isError": failed}
