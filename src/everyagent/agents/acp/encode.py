"""Encodes requests, notifications and answers of an ACP client. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

import everyagent
from everyagent.agents.acp.wire import Id

PROTOCOL_VERSION = 1
UNSERVED = -32601
FAILED = -32603

_encoder = msgspec.json.Encoder()


def initialize(*, client_methods: bool) -> dict[str, object]:
    """`client_methods`: the agent may use the daemon's files and terminals instead of its own."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": client_methods, "writeTextFile": client_methods},
            "terminal": client_methods,
            "elicitation": {"form": {}, "url": {}},
        },
        "clientInfo": {"name": "everyagent", "title": "everyagent", "version": everyagent.__version__},
    }


def open_session(directory: str, servers: Sequence[object], native: str | None = None) -> dict[str, object]:
    """The parameters of `session/new`, and with a native id of `session/load` and `session/resume`."""
    known = {"sessionId": native} if native else {}
    return {**known, "cwd": directory, "mcpServers": servers}


def prompt(session: str, blocks: Sequence[object], traceparent: str | None = None) -> dict[str, object]:
    """The protocol reserves `traceparent` in `_meta` for the trace context of W3C."""
    meta = {"_meta": {"traceparent": traceparent}} if traceparent else {}
    return {"sessionId": session, "prompt": blocks, **meta}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def cancel(session: str) -> bytes:
    return _line(method="session/cancel", params={"sessionId": session})


def request(id: int, method: str, params: Mapping[str, object]) -> bytes:
    return _line(id=id, method=method, params=params)


def result(id: Id, result: object) -> bytes:
    return _line(id=id, result=result)


def refusal(id: Id, method: str) -> bytes:
    return error(id, UNSERVED, f"This client does not serve {method}.")


def error(id: Id, code: int, message: str) -> bytes:
    return _line(id=id, error={"code": code, "message": message})


def _line(**fields: object) -> bytes:
    return _encoder.encode({"jsonrpc": "2.0", **fields}) + b"\n"
