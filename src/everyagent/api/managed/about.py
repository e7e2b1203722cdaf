"""The route of the OpenAPI document."""

from everyagent.api.routing import Call, Encoded, Nothing, Routes
from everyagent.api.universal.health import JsonDocument

routes = Routes("managed documents")


@routes.add("GET", "/anthropic/openapi.json", scope=None)
async def managed_openapi(call: Call[Nothing, Nothing]) -> Encoded[JsonDocument]:
    """This document."""
    from everyagent.api.managed.document import managed_json  # made of all routes, this one among them

    return Encoded(managed_json())
