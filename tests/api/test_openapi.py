"""The OpenAPI and JSON Schema documents match the routes and events."""

import re
from collections.abc import Iterator

import jsonschema_rs
import msgspec
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from everyagent.api.docs_page import JsonObject
from everyagent.api.routes import ROUTES, openapi_document, schema_document
from everyagent.model.events import EVENT_TYPES
from tests.api.served import Served


def test_every_route_is_in_the_document() -> None:
    paths = msgspec.convert(openapi_document()["paths"], dict[str, dict[str, object]])
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert all(route.handler.__doc__ for route in ROUTES)


def test_every_reference_can_be_resolved() -> None:
    document = msgspec.json.encode(openapi_document()).decode()
    schemas = msgspec.convert(openapi_document()["components"], dict[str, dict[str, object]])["schemas"]
    assert set(re.findall(r'"#/components/schemas/([^"]+)"', document)) <= set(schemas)


def test_the_document_is_valid_openapi() -> None:
    errors = list(OPENAPI_31_VALIDATOR.iter_errors(openapi_document()))
    assert not errors


def test_every_schema_is_valid_json_schema() -> None:
    schemas = msgspec.convert(openapi_document()["components"], dict[str, dict[str, dict[str, object]]])["schemas"]
    for name, schema in schemas.items():
        assert jsonschema_rs.meta.is_valid(schema), name
    jsonschema_rs.validator_for(schema_document())


def test_the_event_schema_has_every_type_and_a_discriminator() -> None:
    validator = jsonschema_rs.validator_for(schema_document())
    event = {
        "event_id": "evt_1",
        "sequence": 1,
        "time": "2025-01-01T00:00:00Z",
        "session_id": "s",
        "native_session_id": None,
        "source": "agent",
        "synthetic": False,
        "raw": None,
    }
    turn = {"type": "turn.started", "data": {"turn_id": "turn_1", "input_item_ids": []}}
    assert validator.is_valid(event | turn)
    assert not validator.is_valid(event | turn | {"type": "turn.ended"})
    assert not validator.is_valid(event | turn | {"type": "turn.unknown"})
    defs = msgspec.convert(schema_document()["$defs"], dict[str, dict[str, object]])
    assert {f"{data.__name__}Event" for data in EVENT_TYPES} <= set(defs)


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/schema.json"])
async def test_the_documents_are_served(served: Served, path: str) -> None:
    made = openapi_document() if path == "/openapi.json" else schema_document()
    response = await served.client.get(path)
    assert response.headers["content-type"] == "application/json"
    assert response.json() == made


def test_every_json_body_has_an_example_that_its_route_takes() -> None:
    paths = msgspec.convert(openapi_document()["paths"], dict[str, dict[str, JsonObject]])
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        if route.decoder is None or "requestBody" not in operation:
            continue
        (content,) = _media(operation["requestBody"])
        route.decoder.decode(msgspec.json.encode(content["example"]))


def test_every_example_keeps_its_schema() -> None:
    document = openapi_document()
    components = msgspec.convert(document["components"], JsonObject)
    checked = 0
    for holder in _media(document["paths"]):
        if "example" in holder:
            schema = {**msgspec.convert(holder["schema"], JsonObject), "components": components}
            assert jsonschema_rs.is_valid(schema, holder["example"]), holder["schema"]
            checked += 1
    assert checked > 25


def _media(value: object) -> Iterator[JsonObject]:
    """Every object with a schema."""
    if isinstance(value, dict):
        found = msgspec.convert(value, JsonObject)
        if "schema" in found:
            yield found
        for each in found.values():
            yield from _media(each)
    elif isinstance(value, list):
        for each in msgspec.convert(value, list[object]):
            yield from _media(each)


async def test_the_page_shows_every_route_without_a_token(served: Served) -> None:
    page = await served.stranger.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for route in ROUTES:
        assert f'<div id="{route.name}">' in page.text
        assert f"<code>{route.path}</code>" in page.text
    targets = set(re.findall(r' id="([^"]+)"', page.text))
    assert set(re.findall(r'href="#([^"]+)"', page.text)) <= targets
    assert "<script" not in page.text
    assert (await served.stranger.post("/docs")).status_code == 405
