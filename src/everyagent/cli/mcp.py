"""`everyagent mcp`: forwards MCP messages from stdin to the daemon's `/mcp`, and its answers to stdout."""

import os
import sys

import anyio
import msgspec
from msgspec import Struct, field

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.stdio_lines import LineWriter, read_lines
from everyagent.client import ApiError, AsyncClient, ClientError
from everyagent.client.call import ApiCall, ApiResponse
from everyagent.model.parts import Json
from everyagent.model.tools import SESSION_HEADER, SESSION_VARIABLE

#: Longer than the longest wait of a tool.
_TIMEOUT = 600.0
_FAILED = -32603
_NO_ANSWER = b""


class _Meta(Struct):
    """The newest revision has no handshake: every request names the revision."""

    revision: str | None = field(default=None, name="io.modelcontextprotocol/protocolVersion")


class _Params(Struct):
    meta: _Meta = field(default_factory=_Meta, name="_meta")


class _Head(Struct):
    id: Json = None
    params: _Params = field(default_factory=_Params)


def mcp(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Serve sessions as MCP tools on stdin and stdout, so that an agent can drive other agents."""
    anyio.run(_serve, options, backend_options={"use_uvloop": True})


async def _serve(options: DaemonOptions) -> None:
    session = os.environ.get(SESSION_VARIABLE)
    async with connect(options) as connection, anyio.create_task_group() as tasks:
        lines = LineWriter(sys.stdout.fileno())
        async for line in read_lines(sys.stdin.fileno()):
            if line.body.strip():
                tasks.start_soon(_forward, connection.client, line.body, lines, session)
        # Requests that were read before the end of the input are answered.


async def _forward(client: AsyncClient, message: bytes, lines: LineWriter, session: str | None) -> None:
    try:
        head = msgspec.json.decode(message, type=_Head)
    except (msgspec.DecodeError, RecursionError):
        head = _Head()  # the daemon answers with the reason
    if answer := await _answer(client, message, head, session):
        await lines.write(answer)


async def _answer(client: AsyncClient, message: bytes, head: _Head, session: str | None) -> bytes:
    call = McpCall(
        method="POST",
        path="/mcp",
        decode=_body,
        body=message,
        timeout=_TIMEOUT,
        revision=head.params.meta.revision,
        session=session,
    )
    try:
        return await client.call(call)
    except ApiError as error:
        if "jsonrpc" in error.problem:
            return msgspec.json.encode(error.problem)
        return _error(head.id, error.detail)
    except ClientError as error:
        return _error(head.id, str(error))


class McpCall(ApiCall[bytes], frozen=True, kw_only=True):
    revision: str | None = None
    session: str | None = None

    def headers(self) -> dict[str, str]:
        named = {} if self.revision is None else {"mcp-protocol-version": self.revision}
        if self.session:
            named[SESSION_HEADER] = self.session
        return {**super().headers(), "accept": "application/json, text/event-stream", **named}


def _body(response: ApiResponse) -> bytes:
    return response.body or _NO_ANSWER


def _error(id: Json, message: str) -> bytes:
    """Notifications have no id, and get no answer."""
    if id is None:
        return _NO_ANSWER
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": _FAILED, "message": message}})
