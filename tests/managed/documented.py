"""The statuses that the OpenAPI document of the Managed Agents API has for a request."""

import re

import msgspec

from everyagent.api.managed.document import managed_document


class _Operation(msgspec.Struct):
    responses: dict[str, object]


def documented(method: str, path: str) -> set[int]:
    """Empty for a path that no route has."""
    paths = msgspec.convert(managed_document()["paths"], dict[str, dict[str, _Operation]])
    routes = [route for route in paths if re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", route), path)]
    found = [operation for route in routes if (operation := paths[route].get(method.lower()))]
    return {int(status) for operation in found for status in operation.responses}
