"""Errors of refused commands, each with advice on what to do instead."""

from pathlib import Path

import msgspec

from everyagent.errors import (
    AgentFailed,
    AskClosed,
    AskNotFound,
    CommitFailed,
    EveryagentError,
    MessageNotQueued,
    OffsetOutOfRange,
    OwnedElsewhere,
    QueueFull,
    SessionHasEnded,
    StorageFull,
    TooManyAgents,
    TooManySessions,
    Unavailable,
    UnsupportedChoice,
)
from everyagent.log.log import Log
from everyagent.model.parts import Json


class AskNotOpen(EveryagentError):
    """An ask that is answered is not open; `closed_ask` finds out why."""

    def __init__(self, ask_id: str) -> None:
        super().__init__(f"The ask {ask_id!r} is not open.")
        self.ask_id = ask_id


def session_lost() -> Unavailable:
    return Unavailable(
        "The session's last events could not be written to the log, so it is being loaded again. Nothing was "
        "acknowledged; try again."
    )


def shutting_down() -> Unavailable:
    return Unavailable("The daemon is shutting down. Try again when it is back.")


def owned_elsewhere(session_id: str) -> OwnedElsewhere:
    return OwnedElsewhere(
        f"Another node owns the session {session_id!r}. Nothing was changed. Use the routes of /v1/sessions: they "
        "pass commands to the owner."
    )


def session_ended(session_id: str) -> SessionHasEnded:
    return SessionHasEnded(
        "This session has ended; it takes no more messages or changes. Fork it, or create a new one.",
        sessionId=session_id,
    )


def not_queued(item_id: str) -> MessageNotQueued:
    return MessageNotQueued(
        f"The message {item_id!r} does not wait: its turn has begun, or it was withdrawn. Cancel the turn to stop it.",
        itemId=item_id,
    )


def require_writable(log: Log) -> None:
    """Refuses an effect before it begins, if it could not be committed."""
    if log.full:
        raise StorageFull("The disk is full, so nothing was written. Free some space; the daemon goes on by itself.")
    if lost := log.lost:
        raise CommitFailed(lost)


def cannot_steer(title: str) -> UnsupportedChoice:
    return UnsupportedChoice(
        f'{title} takes no messages into a running turn. Send it with "delivery": "queue", or cancel the turn first.',
        field="delivery",
    )


def cannot_stop_one(title: str) -> UnsupportedChoice:
    return UnsupportedChoice(f"{title} cannot stop one of its sub-agents alone. Stop the whole turn instead.")


def queue_full(limit: int) -> QueueFull:
    return QueueFull(
        f"{limit} messages wait in this session, the server's limit (`--max-queued-messages`). Nothing was stored. "
        "Send it again when the session has taken some of them, or cancel the running turn.",
        limit=limit,
    )


def too_many_sessions(limit: int) -> TooManySessions:
    return TooManySessions(
        f"There are {limit} open sessions, the server's limit (`--max-sessions`). Terminate or delete one that is not "
        "needed any more, then try again.",
        limit=limit,
    )


def too_many_agents(limit: int) -> TooManyAgents:
    return TooManyAgents(
        f"{limit} agents run and are busy, the server's limit (`--max-agents`). Try again when one of them is done.",
        limit=limit,
    )


def directory_elsewhere(directory: Path, node: str) -> AgentFailed:
    return AgentFailed(
        f"The session's directory {directory} is not on this node of the cluster: the session worked on the node "
        f"{node}. Start that node, and the session goes back to it when it rests; or mount the directory on all nodes."
    )


def offset_outside(offset: int, head: int) -> OffsetOutOfRange:
    return OffsetOutOfRange(
        f"The offset {offset} is outside this session, whose last event is {head}. Give the last sequence you have "
        f"seen, 0 to {head}. (If you have seen a higher one, the session was deleted and created again.)",
        head=head,
    )


async def closed_ask(log: Log, session: int, ask_id: str) -> EveryagentError:
    """The error for an ask that is not open: answered before, or never asked."""
    record = await log.ask(session, ask_id)
    if record is None or record.answer is None:
        return AskNotFound(
            f"This session has no ask {ask_id!r}. GET /v1/sessions/{{id}}/asks lists the open ones.", askId=ask_id
        )
    first: Json = msgspec.json.decode(record.answer)
    return AskClosed("This ask was answered before; the first answer stands.", askId=ask_id, firstAnswer=first)
