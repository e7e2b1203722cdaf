"""JSON-RPC lines of the app-server: read the head of a message, encode requests and answers. Pure.

There is no version field, and each side numbers its own requests.
"""

import msgspec
from msgspec import Struct

from everyagent.agents.codex.protocol.wire import Id, RpcHead, RpcName
from everyagent.agents.unparsed import BROKEN
from everyagent.runtime.framing import Line

UNSERVED = -32601

_heads = msgspec.json.Decoder(RpcHead)
_names = msgspec.json.Decoder(RpcName)
_encoder = msgspec.json.Encoder()


class RpcMessage(Struct, frozen=True, gc=False):
    """A line and its head. A request has `method` and `id`, a notification `method`, an answer to us `id`.

    `thread` is the native thread it is about or that an answer opened, `children` are threads of sub-agents that it
    names. A line that cannot be read has a `problem`.
    """

    body: bytes
    method: str | None = None
    id: Id | None = None
    thread: str | None = None
    children: tuple[str, ...] = ()
    problem: str | None = None


def read(line: Line) -> RpcMessage:
    """Never raises."""
    body = line.body
    if line.cut:
        return RpcMessage(body, problem=f"a line of {line.cut} bytes was cut after {len(body)}")
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate what it skips
        head = _head(body)
    except BROKEN as problem:
        return RpcMessage(body, problem=str(problem))
    if head.method is None and head.id is None:
        return RpcMessage(body, problem="neither a request, nor a notification, nor an answer")
    params = head.params or head.result
    if params is None:
        return RpcMessage(body, head.method, head.id)
    thread = params.thread_id or params.conversation_id or (params.thread.id if params.thread else None)
    item = params.item
    children = (*([item.agent_thread_id] if item.agent_thread_id else ()), *item.receiver_thread_ids) if item else ()
    return RpcMessage(body, head.method, head.id, thread, children)


def _head(body: bytes) -> RpcHead:
    """A message of an unknown shape may still have a method that we know."""
    try:
        return _heads.decode(body)
    except msgspec.ValidationError:
        name = _names.decode(body)
        return RpcHead(method=name.method, id=name.id)


def request(id: Id, method: str, params: object, traceparent: str | None = None) -> bytes:
    trace = {"trace": {"traceparent": traceparent}} if traceparent else {}
    return _encoder.encode({"id": id, "method": method, "params": params, **trace}) + b"\n"


def notification(method: str) -> bytes:
    return _encoder.encode({"method": method}) + b"\n"


def result(id: Id, result: object) -> bytes:
    return _encoder.encode({"id": id, "result": result}) + b"\n"


def refusal(id: Id, method: str) -> bytes:
    error = {"code": UNSERVED, "message": f"This host does not serve {method}."}
    return _encoder.encode({"id": id, "error": error}) + b"\n"
