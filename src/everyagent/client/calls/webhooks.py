"""Calls about webhooks."""

from collections.abc import Sequence

import msgspec

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, path
from everyagent.model.webhooks import (
    CreateWebhook,
    Delivery,
    DeliveryList,
    NewWebhook,
    WebhookEventType,
    WebhookInfo,
    WebhookList,
)

_webhooks = decoded(WebhookList)
_webhook = decoded(WebhookInfo)
_new_webhook = decoded(NewWebhook)
_delivery = decoded(Delivery)
_deliveries = decoded(DeliveryList)


def webhooks() -> ApiCall[list[WebhookInfo]]:
    """The webhooks, oldest first, without their secrets."""
    return get(path("webhooks"), _webhook_list)


def webhook(webhook_id: str) -> ApiCall[WebhookInfo]:
    """A webhook, and how far its deliveries are."""
    return get(path("webhooks", webhook_id), _webhook)


def create_webhook(
    url: str, *, events: Sequence[WebhookEventType] | None = None, name: str = "", answer_links: bool = False
) -> ApiCall[NewWebhook]:
    """Add an endpoint. The result has its secret, which is not shown again."""
    asked = CreateWebhook(url=url, name=name, events=list(events) if events else None, answer_links=answer_links)
    body = {name: value for name, value in msgspec.to_builtins(asked).items() if value is not None}
    return ApiCall(method="POST", path=path("webhooks"), decode=_new_webhook, body=msgspec.json.encode(body))


def update_webhook(
    webhook_id: str,
    *,
    url: str | None = None,
    events: Sequence[WebhookEventType] | None = None,
    name: str | None = None,
    answer_links: bool | None = None,
    paused: bool | None = None,
) -> ApiCall[WebhookInfo]:
    """Change, pause or continue an endpoint. What is None stays as it is."""
    given = {"url": url, "events": events, "name": name, "answerLinks": answer_links, "paused": paused}
    body = msgspec.json.encode({name: value for name, value in given.items() if value is not None})
    return ApiCall(method="PATCH", path=path("webhooks", webhook_id), decode=_webhook, body=body)


def remove_webhook(webhook_id: str) -> ApiCall[WebhookInfo]:
    """Remove an endpoint."""
    return ApiCall(method="DELETE", path=path("webhooks", webhook_id), decode=_webhook)


def send_test_webhook(webhook_id: str) -> ApiCall[Delivery]:
    """Send a test message to an endpoint now."""
    return ApiCall(method="POST", path=path("webhooks", webhook_id, "test"), decode=_delivery, body=b"{}")


def replay_webhook(webhook_id: str, *, after: str | None = None) -> ApiCall[WebhookInfo]:
    """Deliver again everything after a cursor; without one, continue a paused endpoint where it stopped."""
    body = msgspec.json.encode({} if after is None else {"after": after})
    return ApiCall(method="POST", path=path("webhooks", webhook_id, "replay"), decode=_webhook, body=body)


def deliveries(webhook_id: str) -> ApiCall[list[Delivery]]:
    """The latest deliveries of an endpoint, newest first."""
    return get(path("webhooks", webhook_id, "deliveries"), _delivery_list)


def _webhook_list(response: ApiResponse) -> list[WebhookInfo]:
    return _webhooks(response).webhooks


def _delivery_list(response: ApiResponse) -> list[Delivery]:
    return _deliveries(response).deliveries
