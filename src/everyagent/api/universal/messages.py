"""Messages: what a user tells the agent of a session."""

from typing import TypeVar

from msgspec import Struct

from everyagent.api.routing import Call, NoContent, Nothing, Routes
from everyagent.api.streaming import EventStream
from everyagent.errors import (
    AgentFailed,
    RecordNotFound,
    SessionHasEnded,
    SessionNotFound,
    StorageFull,
    UnsupportedChoice,
)
from everyagent.model.sessions import QueuedMessage, SendMessage

routes = Routes("messages")
_ERRORS = (SessionNotFound, RecordNotFound, SessionHasEnded, UnsupportedChoice, AgentFailed, StorageFull)
Q = TypeVar("Q")


class TurnQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    """`includeRaw`: each event with the native frame it was made from."""

    include_raw: bool = False


class MessageQueue(Struct, frozen=True):
    messages: list[QueuedMessage]


@routes.add(
    "POST",
    "/v1/sessions/{session_id}/messages",
    *_ERRORS,
    effect=True,
    headers={"x-item-id": "The id that the message's item will have."},
)
async def send_message(call: Call[Nothing, SendMessage]) -> NoContent:
    """A message. Answered when it is safe on disk; its turn comes when those before it are done."""
    message = await _with_files(call, call.body)
    return _accepted(await call.sessions.send(call.path["session_id"], message, call.receipt(_accepted)))


@routes.add("GET", "/v1/sessions/{session_id}/messages/queue", SessionNotFound)
async def list_queued_messages(call: Call[Nothing, Nothing]) -> MessageQueue:
    """The messages that wait for their turn, next first."""
    return MessageQueue(messages=list(await call.sessions.queue(call.path["session_id"])))


@routes.add("POST", "/v1/sessions/{session_id}/messages/stream", *_ERRORS, effect=True)
async def stream_message(call: Call[TurnQuery, SendMessage]) -> EventStream:
    """A message, answered with the events of its turn."""
    session_id, raw, key = call.path["session_id"], call.query.include_raw, call.key
    if key and key.earlier:
        chunks = await call.sessions.turn(session_id, key.earlier.headers["x-item-id"], raw=raw)
    else:
        receipt = key.stream_receipt if key else None
        message = await _with_files(call, call.body)
        chunks = await call.sessions.stream_turn(session_id, message, receipt, raw=raw)
    return EventStream(chunks, call.context.readers)


async def _with_files(call: Call[Q, SendMessage], message: SendMessage) -> SendMessage:
    """Files that were uploaded stand behind `/anthropic`, which is loaded only for those who use it."""
    named = any(attachment.file_id is not None for attachment in message.attachments)
    return await call.managed.with_files(message) if named else message


def _accepted(item_id: str) -> NoContent:
    return NoContent({"x-item-id": item_id})
