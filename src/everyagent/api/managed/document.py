"""The OpenAPI document of the Managed Agents API as implemented here."""

from functools import cache

import msgspec

from everyagent import __version__
from everyagent.api.managed.errors import ErrorEnvelope
from everyagent.api.managed.routes import ROUTES
from everyagent.api.openapi import DocumentStyle, describe

_ABOUT = (
    "Anthropic's Managed Agents API, on any coding agent. Query arrays are bracketed (`types[]=`), dates are compared "
    "with `created_at[gte]=` and the like; fields that are unknown here are ignored, and named in "
    "`x-everyagent-warning`."
)
MANAGED = DocumentStyle("everyagent: managed agents", _ABOUT, ErrorEnvelope, "application/json")


def managed_document() -> dict[str, object]:
    return describe(ROUTES, __version__, MANAGED)


@cache
def managed_json() -> bytes:
    return msgspec.json.encode(managed_document())
