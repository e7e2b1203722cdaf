"""Makes the messages of webhooks from events of the log. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from everyagent.model.events import (
    TYPE_NUMBERS,
    Error,
    PermissionRequested,
    QuestionRequested,
    Retry,
    SessionEnded,
    ToolRequested,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.webhooks import WebhookEventType

#: The data of a larger event is left out of the message.
MOST_DATA_BYTES: Final = 16 << 10
#: The prefix of the ids of managed sessions.
_MANAGED: Final = "sesn_"
ASKS: Final = frozenset((PermissionRequested.type, QuestionRequested.type))
_CAUSES: Final[dict[WebhookEventType, frozenset[str]]] = {
    "turn.ended": frozenset((TurnEnded.type,)),
    "permission.requested": frozenset((PermissionRequested.type,)),
    "question.requested": frozenset((QuestionRequested.type,)),
    "error": frozenset((Error.type,)),
    "budget.reached": frozenset((TurnEnded.type,)),
    "session.ended": frozenset((SessionEnded.type,)),
    "session.status_run_started": frozenset((TurnStarted.type,)),
    "session.status_idled": frozenset((TurnEnded.type,)),
    "session.idled": frozenset((TurnEnded.type,)),
    "session.requires_action": frozenset((PermissionRequested.type, QuestionRequested.type, ToolRequested.type)),
    "session.status_rescheduled": frozenset((Error.type,)),
    "session.status_terminated": frozenset((SessionEnded.type,)),
    "session.budget_reached": frozenset((TurnEnded.type,)),
}
#: Names of the Managed Agents API are used for managed sessions only.
_MANAGED_NAMES: Final = frozenset(name for name in _CAUSES if name.startswith("session.")) - {"session.ended"}


class LoggedEvent(Struct, frozen=True):
    """The part of an event's envelope that a message needs."""

    event_id: str
    sequence: int
    time: str
    session_id: str
    type: str
    data: msgspec.Raw


class _Facts(Struct, frozen=True):
    """Fields of events on which it depends which messages they make. `permission_id` or `question_id` names an ask."""

    stop_reason: str = ""
    pending_asks: Sequence[str] = ()
    retry: Retry | None = None
    subagent: str | None = None
    permission_id: str = ""
    question_id: str = ""


class SessionFacts(Struct, frozen=True, kw_only=True):
    """The facts about its session in every message."""

    agent: str
    title: str | None
    workspace: str


class WebhookMessage(NamedTuple):
    """`id` is the same whenever the message is sent, so that receivers recognise a repeat."""

    id: str
    type: WebhookEventType
    session_id: str
    sequence: int
    body: bytes


_logged = msgspec.json.Decoder(LoggedEvent)
_facts = msgspec.json.Decoder(_Facts)


def cause_numbers(types: Iterable[WebhookEventType]) -> frozenset[int]:
    """The numbers of the events that can make messages of these types."""
    return frozenset(TYPE_NUMBERS[cause] for each in types for cause in _CAUSES[each])


def logged(body: bytes) -> LoggedEvent:
    return _logged.decode(body)


def asked(event: LoggedEvent) -> str | None:
    """The id of the ask that a person can answer, if the event is one."""
    if event.type not in ASKS:
        return None
    facts = _facts.decode(event.data)
    return facts.permission_id or facts.question_id


def wanted(event: LoggedEvent, types: Sequence[WebhookEventType]) -> list[WebhookEventType]:
    """The types of the messages that the event makes, in the order of `types`."""
    facts = _facts.decode(event.data)
    return [each for each in types if event.type in _CAUSES[each] and _applies(each, event, facts)]


def _applies(type: WebhookEventType, event: LoggedEvent, facts: _Facts) -> bool:
    if type in _MANAGED_NAMES and not event.session_id.startswith(_MANAGED):
        return False
    match type:
        case "budget.reached" | "session.budget_reached":
            return facts.stop_reason == "budget"
        case "session.status_idled" | "session.idled":
            return not facts.pending_asks and facts.stop_reason != "terminated"
        case "session.status_rescheduled":
            return facts.retry is not None and facts.subagent is None
        case _:
            return True


def messages(
    event: LoggedEvent,
    types: Sequence[WebhookEventType],
    session: SessionFacts,
    answer_url: Callable[[str], str] | None,
) -> list[WebhookMessage]:
    """The messages of these types. `answer_url` makes the link with which a person answers an ask."""
    made: list[WebhookMessage] = []
    ask_id = asked(event) if answer_url else None
    for each in types:
        data: dict[str, object] = {
            "type": each,
            "id": event.session_id,
            "organization_id": "everyagent",
            "workspace_id": session.workspace,
            "session_title": session.title,
            "agent": session.agent,
            "sequence": event.sequence,
            "event_id": event.event_id,
        }
        if len(bytes(event.data)) <= MOST_DATA_BYTES:
            data["event"] = event.data
        if ask_id and answer_url:
            data["answer_url"] = answer_url(ask_id)
        id = message_id(event.event_id, each)
        body = encode_message(id, event.time, data)
        made.append(WebhookMessage(id, each, event.session_id, event.sequence, body))
    return made


def message_id(event_id: str, type: str) -> str:
    return f"{event_id}-{type.replace('.', '-')}"


def encode_message(id: str, time: str, data: object) -> bytes:
    """In the envelope that the Managed Agents SDK unwraps."""
    return msgspec.json.encode({"type": "event", "id": id, "created_at": time, "data": data})
