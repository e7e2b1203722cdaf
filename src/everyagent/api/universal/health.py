"""The daemon about itself: that it is well, what it counts, and how its API looks."""

from typing import Literal

from msgspec import Struct
from starlette.responses import Response

from everyagent.api.routing import Call, Encoded, Nothing, Routes

routes = Routes("daemon")


class Health(Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    version: str


class JsonDocument(Struct, frozen=True):
    """A JSON document of its own kind."""


@routes.add("GET", "/v1/health", public=True)
async def health(call: Call[Nothing, Nothing]) -> Health:
    """Whether the daemon is up."""
    return Health(status="ok", version=call.context.settings.version)


@routes.add("GET", "/metrics", media=("text/plain",))
async def metrics(call: Call[Nothing, Nothing]) -> Response:
    """Counters for Prometheus."""
    return Response(call.context.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.add("GET", "/openapi.json")
async def openapi(call: Call[Nothing, Nothing]) -> Encoded[JsonDocument]:
    """This document."""
    return Encoded(call.context.openapi())


@routes.add("GET", "/v1/schema.json")
async def schema(call: Call[Nothing, Nothing]) -> Encoded[JsonDocument]:
    """JSON Schema of the events and of what they hold."""
    return Encoded(call.context.schema())
