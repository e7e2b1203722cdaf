"""The MCP server that offers a session's custom tools to its agent.

Each session has a separate token for it, so that agents never see the daemon's token.
"""

from functools import partial

from everyagent.api import mcp_server, request_decoding
from everyagent.api.response import Response
from everyagent.api.routing import Call, Nothing, Routes, Upload
from everyagent.errors import SessionNotFound
from everyagent.model.parts import Json
from everyagent.sessions import Sessions

routes = Routes("tools")


_JSON = ("application/json",)


@routes.add("POST", "/v1/sessions/{session_id}/mcp", SessionNotFound, media=_JSON, takes=_JSON, error_media=_JSON)
async def call_custom_tools(call: Call[Nothing, Upload]) -> Response:
    """Serve the session's custom tools to its agent over MCP. A tool call waits for the client's answer."""
    session_id = call.path["session_id"]
    body = await request_decoding.whole(call.scope, call.receive, call.context.settings.max_body)
    tools = mcp_server.ToolServer(await call.sessions.tools(session_id), partial(_call_tool, call.sessions, session_id))
    return await mcp_server.respond(tools, body, request_decoding.header(call.scope, b"mcp-protocol-version"))


async def _call_tool(sessions: Sessions, session_id: str, name: str, arguments: Json) -> dict[str, object]:
    answer = await sessions.call_tool(session_id, name, arguments)
    return mcp_server.tool_result(
        answer.output or "", failed=answer.is_error or answer.output is None, images=answer.images
    )
