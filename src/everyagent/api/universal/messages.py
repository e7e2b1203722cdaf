"""Routes that send messages to a session."""

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, NoContent, Nothing, Routes
from everyagent.api.streaming import EventStream
from everyagent.api.universal.key_limits import checked_message
from everyagent.errors import (
    AgentFailed,
    Forbidden,
    MessageNotQueued,
    RecordNotFound,
    SessionHasEnded,
    SessionNotFound,
    StorageFull,
    UnsupportedChoice,
)
from everyagent.model.responses import MessageQueue
from everyagent.model.sessions import SendMessage
from everyagent.model.trace_context import parsed

routes = Routes("messages")
_ERRORS = (Forbidden, SessionNotFound, RecordNotFound, SessionHasEnded, UnsupportedChoice, AgentFailed, StorageFull)
Q = TypeVar("Q")


class TurnQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    """`includeRaw`: include the native frame of each event."""

    include_raw: bool = False


@routes.add(
    "POST",
    "/v1/sessions/{session_id}/messages",
    *_ERRORS,
    effect=True,
    turns=True,
    headers={"x-item-id": "The id of the message's item."},
)
async def send_message(call: Call[Nothing, SendMessage]) -> NoContent:
    """Send a message. Responds when it is stored; its turn starts after those of earlier messages."""
    message = await _with_files(call, call.body)
    return _accepted(await call.sessions.send(call.path["session_id"], message, call.receipt(_accepted)))


@routes.add("GET", "/v1/sessions/{session_id}/messages/queue", SessionNotFound)
async def list_queued_messages(call: Call[Nothing, Nothing]) -> MessageQueue:
    """List the messages that wait for their turn, next first."""
    return MessageQueue(messages=list(await call.sessions.queue(call.path["session_id"])))


@routes.add(
    "DELETE",
    "/v1/sessions/{session_id}/messages/queue/{item_id}",
    SessionNotFound,
    MessageNotQueued,
    SessionHasEnded,
    StorageFull,
    effect=True,
)
async def withdraw_message(call: Call[Nothing, Nothing]) -> None:
    """Withdraw a message that waits for its turn, by the id of its item. To change it, send another."""
    await call.sessions.withdraw(call.path["session_id"], call.path["item_id"])


@routes.add("POST", "/v1/sessions/{session_id}/messages/stream", *_ERRORS, effect=True, turns=True)
async def stream_message(call: Call[TurnQuery, SendMessage]) -> EventStream:
    """Send a message and stream the events of its turn."""
    session_id, raw, key = call.path["session_id"], call.query.include_raw, call.key
    if key and key.earlier:
        chunks = await call.sessions.turn(session_id, key.earlier.headers["x-item-id"], raw=raw)
    else:
        receipt = key.stream_receipt if key else None
        message = await _with_files(call, call.body)
        chunks = await call.sessions.stream_turn(session_id, message, receipt, raw=raw)
    return EventStream(chunks, call.context.readers)


async def _with_files(call: Call[Q, SendMessage], message: SendMessage) -> SendMessage:
    """Check attachments and resolve their file ids. Loads the Managed Agents services only if there are any."""
    checked_message(message)
    if message.traceparent is None and (parent := parsed(header(call.scope, b"traceparent"))):
        message = replace(message, traceparent=parent.traceparent)
    named = any(attachment.file_id is not None for attachment in message.attachments)
    return await call.managed.with_files(message) if named else message


def _accepted(item_id: str) -> NoContent:
    return NoContent({"x-item-id": item_id})
