"""The MCP server of the daemon: sessions of any agent as tools."""

import hashlib

from everyagent.api import mcp_server, request_decoding
from everyagent.api.response import Response
from everyagent.api.routing import Call, Nothing, Routes, Upload

routes = Routes("tools")
_JSON = ("application/json",)


@routes.add("POST", "/mcp", media=_JSON, takes=_JSON, error_media=_JSON, scope=("read", "run", "answer"))
async def serve_session_tools(call: Call[Nothing, Upload]) -> Response:
    """Serve tools over MCP that start, message, answer and read sessions. Each tool needs its own scope."""
    from everyagent.api.session_tool_inputs import definitions  # loaded when needed
    from everyagent.api.session_tools import SessionTools

    body = await request_decoding.whole(call.scope, call.receive, call.context.settings.max_body)
    if call.context.forwarder is not None:
        call.context.forwarder.check_body(call.scope, hashlib.sha256(body).digest())
    tools = mcp_server.ToolServer(definitions(), SessionTools(call.context, call.scope).call)
    return await mcp_server.respond(tools, body, request_decoding.header(call.scope, b"mcp-protocol-version"))
