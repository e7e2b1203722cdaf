"""The route table of the universal API, and its OpenAPI and JSON Schema documents."""

from functools import cache

import msgspec

from everyagent import __version__
from everyagent.api.routing import Route
from everyagent.api.universal import (
    agents,
    asks,
    checkpoints,
    custom_tools,
    events,
    export,
    files,
    frames,
    health,
    images,
    keys,
    mcp,
    messages,
    runners,
    search,
    sessions,
    usage,
    webhooks,
    worktrees,
)

ROUTES: tuple[Route, ...] = tuple(
    route
    for table in (
        health.routes,
        agents.routes,
        sessions.routes,
        worktrees.routes,
        checkpoints.routes,
        messages.routes,
        events.routes,
        frames.routes,
        images.routes,
        asks.routes,
        export.routes,
        search.routes,
        usage.routes,
        files.routes,
        custom_tools.routes,
        mcp.routes,
        keys.routes,
        webhooks.routes,
        runners.routes,
    )
    for route in table.all
)


def openapi_document() -> dict[str, object]:
    """The OpenAPI 3.1 document of the universal API."""
    from everyagent.api.openapi import describe  # loaded when needed

    return describe(ROUTES, __version__)


def schema_document() -> dict[str, object]:
    """JSON Schema 2020-12 of the universal events."""
    from everyagent.api.json_schema import event_schema

    return event_schema()


@cache
def openapi_json() -> bytes:
    return msgspec.json.encode(openapi_document())


@cache
def schema_json() -> bytes:
    return msgspec.json.encode(schema_document())
