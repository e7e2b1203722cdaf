"""Routes of webhooks: endpoints on other servers that get messages about sessions."""

from typing import TYPE_CHECKING

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import BadRequest, Conflict, NotFound, RecordChanged, StorageFull
from everyagent.model.webhooks import (
    CreateWebhook,
    Delivery,
    DeliveryList,
    NewWebhook,
    ReplayWebhook,
    UpdateWebhook,
    WebhookInfo,
    WebhookList,
)
from everyagent.sessions import Sessions

if TYPE_CHECKING:
    from everyagent.webhooks.webhooks import Webhooks

routes = Routes("webhooks")
_PATH = "/v1/webhooks/{webhook_id}"


@routes.add("GET", "/v1/webhooks", scope="admin")
async def list_webhooks(call: Call[Nothing, Nothing]) -> WebhookList:
    """List the webhooks of the workspace, oldest first; the owner sees those of all."""
    return WebhookList(webhooks=await _webhooks(call.sessions).list())


@routes.add("POST", "/v1/webhooks", Conflict, StorageFull, scope="admin")
async def create_webhook(call: Call[Nothing, CreateWebhook]) -> NewWebhook:
    """Add an endpoint. It gets what happens from now on. The response is the only one that has its secret."""
    return await _webhooks(call.sessions).create(call.body)


@routes.add("GET", _PATH, NotFound, scope="admin")
async def show_webhook(call: Call[Nothing, Nothing]) -> WebhookInfo:
    """Show an endpoint, and how far its deliveries are."""
    return (await _webhooks(call.sessions).find(call.path["webhook_id"])).info()


@routes.add("PATCH", _PATH, NotFound, RecordChanged, StorageFull, scope="admin")
async def update_webhook(call: Call[Nothing, UpdateWebhook]) -> WebhookInfo:
    """Change, pause or continue an endpoint."""
    return await _webhooks(call.sessions).update(call.path["webhook_id"], call.body)


@routes.add("DELETE", _PATH, NotFound, StorageFull, scope="admin")
async def remove_webhook(call: Call[Nothing, Nothing]) -> WebhookInfo:
    """Remove an endpoint. It gets nothing any more, and its links for answers stop working."""
    return await _webhooks(call.sessions).remove(call.path["webhook_id"])


@routes.add("POST", f"{_PATH}/test", NotFound, scope="admin")
async def send_test_webhook(call: Call[Nothing, Nothing]) -> Delivery:
    """Send a test message to an endpoint now, and return what came of it."""
    return await _webhooks(call.sessions).test(call.path["webhook_id"])


@routes.add("POST", f"{_PATH}/replay", NotFound, StorageFull, scope="admin")
async def replay_webhook(call: Call[Nothing, ReplayWebhook]) -> WebhookInfo:
    """Deliver again everything after a cursor, or continue a paused endpoint where it stopped."""
    return await _webhooks(call.sessions).replay(call.path["webhook_id"], call.body)


@routes.add("GET", f"{_PATH}/deliveries", NotFound, scope="admin")
async def list_deliveries(call: Call[Nothing, Nothing]) -> DeliveryList:
    """List the latest 50 deliveries of an endpoint, newest first."""
    endpoint = await _webhooks(call.sessions).find(call.path["webhook_id"])
    return DeliveryList(deliveries=endpoint.progress.deliveries[::-1])


def _webhooks(sessions: Sessions) -> "Webhooks":
    lazy = sessions.services.webhooks
    if lazy is None:
        raise BadRequest("This server has no webhooks.")
    return lazy.loaded
