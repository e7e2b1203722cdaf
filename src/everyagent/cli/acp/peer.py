"""JSON-RPC with an ACP client over lines: answers its requests, and sends it ours."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import Raw, UnsetType

from everyagent.cli.acp.wire import AcpMessage, Id, RpcFault
from everyagent.cli.stdio_lines import LineWriter, read_lines
from everyagent.client import ApiError, ClientError
from everyagent.runtime.framing import LINE_LIMIT, Line

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, FAILED = -32700, -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND = -32000, -32002
#: How long requests may take after the client has closed its end.
FAREWELL = 10.0

_messages = msgspec.json.Decoder(AcpMessage)
Handler = Callable[[str, Raw], Awaitable[object]]
T = TypeVar("T")


class RpcFailure(Exception):
    """The error of a request: ours to the client, or the client's to us."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Peer:
    """Requests are handled at the same time, and begin in the order in which they came."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin = stdin
        self._lines = LineWriter(stdout)
        self._asked: dict[int, _Answer] = {}
        self._last_id = 0
        self._unanswered = 0
        self._all_answered = anyio.Event()

    async def serve(self, handle: Handler, tasks: TaskGroup) -> None:
        """Read until the client closes its end. What it asked for before is answered, but for a prompt's long turn."""
        async for line in read_lines(self._stdin):
            if (message := await self._decoded(line)) is None:
                continue
            if message.method is not None:
                if not isinstance(message.id, UnsetType) and message.method != "session/prompt":
                    self._unanswered += 1
                    self._all_answered = anyio.Event()
                tasks.start_soon(self._handle, handle, message.method, message)
            elif isinstance(message.id, int) and (answer := self._asked.get(message.id)):
                answer.give(message)
        with anyio.move_on_after(FAREWELL):
            while self._unanswered:
                await self._all_answered.wait()

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        await self._write({"method": method, "params": params})

    async def request(self, method: str, params: Mapping[str, object], result: type[T]) -> T:
        """The client's answer. If the caller is cancelled, the client is informed that none is needed any more."""
        self._last_id += 1
        own = self._last_id
        answer = self._asked[own] = _Answer()
        try:
            await self._write({"id": own, "method": method, "params": params})
            await answer.given.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.notify("$/cancel_request", {"requestId": own})
            raise
        finally:
            del self._asked[own]
        if answer.error is not None:
            raise RpcFailure(answer.error.code, answer.error.message)
        return decoded(answer.result, result)

    async def _handle(self, handle: Handler, method: str, message: AcpMessage) -> None:
        await self._answer(handle, method, message)
        if not isinstance(message.id, UnsetType) and method != "session/prompt":
            self._unanswered -= 1
            if not self._unanswered:
                self._all_answered.set()

    async def _answer(self, handle: Handler, method: str, message: AcpMessage) -> None:
        try:
            result = await handle(method, message.params)
        except RpcFailure as failure:
            await self._fail(message.id, failure.code, str(failure))
        except ApiError as error:
            await self._fail(message.id, _CODES.get(error.status, FAILED), error.detail)
        except ClientError as error:
            await self._fail(message.id, FAILED, str(error))
        else:
            if not isinstance(message.id, UnsetType):
                await self._write({"id": message.id, "result": result})

    async def _fail(self, id: Id | UnsetType, code: int, text: str) -> None:
        """Errors of notifications are not reported: the protocol has no answer to them."""
        if not isinstance(id, UnsetType):
            await self._write({"id": id, "error": {"code": code, "message": text}})

    async def _decoded(self, line: Line) -> AcpMessage | None:
        if line.cut:
            await self._fail(None, INVALID_REQUEST, f"A message may have {LINE_LIMIT} bytes; this one had {line.cut}.")
            return None
        if not line.body.strip():
            return None
        try:
            return _messages.decode(line.body)
        except msgspec.ValidationError as error:
            await self._fail(None, INVALID_REQUEST, f"The line is not a JSON-RPC message: {error}.")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            await self._fail(None, PARSE_ERROR, f"The line is not JSON: {error}.")
        return None

    async def _write(self, fields: Mapping[str, object]) -> None:
        await self._lines.write(msgspec.json.encode({"jsonrpc": "2.0", **fields}))


class _Answer:
    def __init__(self) -> None:
        self.given = anyio.Event()
        self.result: Raw = Raw(b"null")
        self.error: RpcFault | None = None

    def give(self, message: AcpMessage) -> None:
        self.result, self.error = message.result, message.error
        self.given.set()


#: Codes for statuses of the daemon's API.
_CODES = {400: INVALID_PARAMS, 401: AUTH_REQUIRED, 404: NOT_FOUND, 422: INVALID_PARAMS}


def decoded(params: Raw, type: type[T]) -> T:
    try:
        return msgspec.json.decode(params, type=type)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RpcFailure(INVALID_PARAMS, f"The parameters do not fit: {error}.") from None
