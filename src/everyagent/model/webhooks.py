"""Webhook endpoints and their deliveries as the API shows them."""

from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

#: Events of every session, by the names of the log; `budget.reached` is a turn that a budget ended.
SessionEventType: TypeAlias = Literal[
    "turn.ended", "permission.requested", "question.requested", "error", "budget.reached", "session.ended"
]
#: Events of managed sessions, by the names of the Managed Agents API.
ManagedEventType: TypeAlias = Literal[
    "session.status_run_started",
    "session.status_idled",
    "session.idled",
    "session.requires_action",
    "session.status_rescheduled",
    "session.status_terminated",
    "session.budget_reached",
]
WebhookEventType: TypeAlias = Literal[SessionEventType, ManagedEventType]
SESSION_EVENTS: tuple[SessionEventType, ...] = get_args(SessionEventType)
MANAGED_EVENTS: tuple[ManagedEventType, ...] = get_args(ManagedEventType)

EndpointUrl: TypeAlias = Annotated[str, Meta(max_length=2000, pattern=r"^https?://[!-~]+$")]
EndpointName: TypeAlias = Annotated[str, Meta(max_length=100)]
EventTypes: TypeAlias = Annotated[list[WebhookEventType], Meta(min_length=1)]
#: A place in the feed of all sessions, as a delivery shows it.
Cursor: TypeAlias = Annotated[str, Meta(pattern=r"^\d{1,18}\.\d{1,18}$")]


class CreateWebhook(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Without `events`, the endpoint gets those of all sessions by the names of the log.

    With `answerLinks`, requests for a permission or an answer carry a link with which anybody can answer them once.
    """

    url: EndpointUrl
    name: EndpointName = ""
    events: EventTypes | None = None
    answer_links: bool = False


class UpdateWebhook(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Only the given fields change. `paused: false` continues a paused endpoint with the event it stopped at."""

    url: EndpointUrl | UnsetType = UNSET
    name: EndpointName | UnsetType = UNSET
    events: EventTypes | UnsetType = UNSET
    answer_links: bool | UnsetType = UNSET
    paused: bool | UnsetType = UNSET


class ReplayWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Delivers again what came after the cursor of a delivery; `0.0` is the beginning of the log.

    Without a cursor, a paused endpoint continues with the event it stopped at.
    """

    after: Cursor | None = None


class Delivery(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One message to an endpoint. `at` is the time of its last attempt, in milliseconds.

    `status` is that of the last response; `error` says why the last attempt failed, empty if it did not.
    `cursor` is the place of its event in the log, null for a test message.
    """

    message_id: str
    type: str
    at: int
    attempts: int
    duration_ms: int
    session_id: str | None = None
    cursor: str | None = None
    status: int | None = None
    error: str = ""


class WebhookInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """Times are in milliseconds. `cursor` is the place in the log up to which everything was delivered.

    `failingSince` is the time of the first of the latest attempts that all failed. The endpoint gets nothing while
    `pausedAt` is not null; `pauseReason` says why.
    """

    webhook_id: str
    url: str
    name: str
    workspace: str
    events: list[WebhookEventType]
    answer_links: bool
    created_at: int
    cursor: str
    failing_since: int | None = None
    paused_at: int | None = None
    pause_reason: str | None = None
    last_delivery: Delivery | None = None


class NewWebhook(Struct, frozen=True, kw_only=True):
    """`secret` signs every message. It is shown once."""

    webhook: WebhookInfo
    secret: str


class WebhookList(Struct, frozen=True, kw_only=True):
    webhooks: list[WebhookInfo]


class DeliveryList(Struct, frozen=True, kw_only=True):
    """The latest deliveries, newest first."""

    deliveries: list[Delivery]
