"""Makes the OpenAPI 3.1 document from the route table."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args, get_origin

import msgspec
from msgspec import Struct

from everyagent.api.examples import example_of
from everyagent.api.json_schema import JsonObject, event_components, schemas
from everyagent.api.problems import MEDIA_TYPE, Problem
from everyagent.api.routing import Accepted, Encoded, NoContent, Nothing, Route, Spooled, Upload
from everyagent.api.streaming import EventStream
from everyagent.errors import (
    BadRequest,
    BudgetExceeded,
    EveryagentError,
    Forbidden,
    KeyReused,
    RateLimited,
    ScopeMissing,
    TooLarge,
    Unauthorized,
    UnsupportedMedia,
)

_REFS = "#/components/schemas/{name}"
_PARAMETERS: dict[str, JsonObject] = {
    "session_id": {"type": "string", "pattern": "^[A-Za-z0-9._~:-]{1,128}$"},
}
_ABOUT = (
    "Every coding agent behind one API, with one durable event log. Bodies use camelCase, events snake_case; "
    "query parameters can be spelled either way. Errors are RFC 9457 problems."
)
_KEY: JsonObject = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A repeated request with the same key has no second effect and gets the first response again.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
}
_SERVER_SENT_EVENT: JsonObject = {
    "type": "object",
    "description": "One server-sent event.",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {
            "type": "string",
            "description": "The position in the stream. Send it as Last-Event-ID to continue after this event.",
        },
        "event": {"const": "message"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": _REFS.format(name="Event")},
        },
    },
}
#: Tools that know streams compare each event with the schema; clients that do not know them get the whole text.
_SERVER_SENT_EVENTS: JsonObject = {"anyOf": [_SERVER_SENT_EVENT, {"type": "string"}]}
_LAST_EVENT_ID: JsonObject = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event seen; takes precedence over `offset`.",
    "schema": {"type": "string"},
}


_BYTES: JsonObject = {"type": "string", "format": "binary"}
#: The type of bytes that every generator of clients knows.
_PLAIN_BYTES = "application/octet-stream"


class DocumentStyle(NamedTuple):
    """The title, description and error format of an API."""

    title: str
    about: str
    error: type[Struct]
    error_media: str


UNIVERSAL_STYLE = DocumentStyle("everyagent", _ABOUT, Problem, MEDIA_TYPE)


def describe(routes: Sequence[Route], version: str, style: DocumentStyle = UNIVERSAL_STYLE) -> JsonObject:
    shapes = [shape for route in routes for shape in _shapes(route)]
    _, components = schemas([*shapes, style.error], _REFS)
    components |= event_components(_REFS) if style is UNIVERSAL_STYLE else {"Event": {"type": "object"}}
    components[style.error.__name__]["additionalProperties"] = True
    components = {name: _without_defaults(schema) for name, schema in components.items()}
    paths: dict[str, dict[str, JsonObject]] = {}
    for route in routes:
        paths.setdefault(route.path.replace(":path}", "}"), {})[route.method.lower()] = _operation(route, style)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": style.title,
            "version": version,
            "description": style.about,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"apiKey": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _without_defaults(schema: JsonObject) -> JsonObject:
    """The schema with its defaults as text: some generators take a field with a `default` for a required one."""
    properties = msgspec.convert(schema.get("properties", {}), dict[str, JsonObject])
    for field in properties.values():
        if (value := field.pop("default", None)) and isinstance(value, str | int | float):
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            field["description"] = f"{field.get('description', '')} Default: `{shown}`.".strip()
    return schema | {"properties": properties} if properties else schema


def _shapes(route: Route) -> Iterable[object]:
    """The structs of a route that need a schema component."""
    if route.body is not Nothing and issubclass(route.body, Struct):
        yield route.body
    for answer in route.answers:
        if (shape := _shape(answer)) is not None:
            yield shape


def _shape(answer: object) -> object | None:
    """The type of a JSON response, or None if the response is not JSON."""
    if get_origin(answer) is Encoded:
        return get_args(answer)[0]
    shape = get_origin(answer) or answer
    return answer if shape is list or (isinstance(shape, type) and issubclass(shape, Struct)) else None


def _operation(route: Route, style: DocumentStyle) -> JsonObject:
    summary, _, description = (route.handler.__doc__ or "").partition("\n")
    operation: JsonObject = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": summary.strip(),
        "parameters": [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)],
        "responses": _responses(route, style),
    }
    if text := " ".join(description.split()):
        operation["description"] = text
    if body := _request_body(route):
        operation["requestBody"] = body
    if route.public:
        operation["security"] = []
    elif route.scopes:
        operation["security"] = [{scheme: [scope]} for scope in route.scopes for scheme in ("bearer", "apiKey")]
    return operation


def _path_parameters(route: Route) -> Iterable[JsonObject]:
    for name in re.findall(r"{(\w+)(?::path)?}", route.path):
        schema = _PARAMETERS.get(name, {"type": "string", "minLength": 1})
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(route: Route) -> Iterable[JsonObject]:
    (root,), components = schemas([route.query], "{name}")
    schema = components[str(root["$ref"])]
    required = msgspec.convert(schema.get("required", []), list[str])
    for name, found in msgspec.convert(schema["properties"], dict[str, JsonObject]).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": _moment(_never_null(found))}


def _moment(schema: JsonObject) -> JsonObject:
    """A time in a query may also be seconds since 1970."""
    return {"anyOf": [schema, {"type": "number"}]} if schema.get("format") == "date-time" else schema


def _never_null(schema: JsonObject) -> JsonObject:
    """The schema without null: a query parameter is left out instead."""
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    if "enum" in schema:
        values = msgspec.convert(schema["enum"], list[object])
        return schema | {"enum": [value for value in values if value is not None]}
    choices = [
        choice for choice in msgspec.convert(schema.get("anyOf", []), list[JsonObject]) if choice != {"type": "null"}
    ]
    return choices[0] if len(choices) == 1 else schema


def _header_parameters(route: Route) -> Iterable[JsonObject]:
    if route.effect:
        yield _KEY
    if route.streams:
        yield _LAST_EVENT_ID


def _request_body(route: Route) -> JsonObject | None:
    if route.body in (Upload, Spooled):
        return {"required": True, **_uploaded(route.takes)}
    if route.body is Nothing:
        return None
    fields = msgspec.structs.fields(route.body)  # pyright: ignore[reportArgumentType]
    return {
        "required": any(field.required for field in fields),
        "content": {"application/json": {"schema": _reference(route.body)} | example_of(route.body)},
    }


def _uploaded(takes: Sequence[str]) -> JsonObject:
    """Bodies of bytes. Generators of clients fail on types that they do not know, so these are in words."""
    if _PLAIN_BYTES not in takes:
        return {"content": {media: {"schema": _BYTES} for media in takes}}
    others = " or ".join(f"`{media}`" for media in takes if media != _PLAIN_BYTES)
    described: JsonObject = {"description": f"Also taken as {others}."} if others else {}
    return {**described, "content": {_PLAIN_BYTES: {"schema": _BYTES}}}


def _downloaded(media: Sequence[str]) -> JsonObject:
    """Text, or bytes: these also under the one type of bytes that every generator knows."""
    if any(each.startswith("text/") or "json" in each for each in media):
        return {each: {"schema": {"type": "string"}} for each in media}
    return {each: {"schema": _BYTES} for each in dict.fromkeys((*media, _PLAIN_BYTES))}


def _responses(route: Route, style: DocumentStyle) -> JsonObject:
    responses: JsonObject = {}
    shaped = [shape for answer in route.answers if (shape := _shape(answer)) is not None]
    for answer in route.answers:
        status, response = _success(route, answer, shaped)
        responses[status] = response
    for status, errors in _errors(route).items():
        codes = ", ".join(f"`{error.code}`" for error in errors)
        responses[str(status)] = {
            "description": f"{errors[0].title}: {codes}",
            "content": {style.error_media: {"schema": {"$ref": _REFS.format(name=style.error.__name__)}}}
            | {media: {"schema": {}} for media in route.error_media},
        }
    return responses


def _success(route: Route, answer: object, shaped: Sequence[object]) -> tuple[str, JsonObject]:
    headers: JsonObject = {
        "x-request-id": {"description": "The id of this request in the daemon's log.", "schema": {"type": "string"}}
    }
    headers |= {name: {"description": text, "schema": {"type": "string"}} for name, text in route.headers.items()}
    if answer is None or answer is NoContent:
        return "204", {"description": "Done.", "headers": headers}
    if answer is Accepted:
        return "202", {"description": "Accepted; the response has no body.", "headers": headers}
    if answer is EventStream:
        events: JsonObject = {"schema": _SERVER_SENT_EVENTS}
        return "200", {
            "description": "A stream of events.",
            "headers": headers,
            "content": {"text/event-stream": events},
        }
    content = (
        _downloaded(route.media)
        if route.media
        else {"application/json": {"schema": _any_of(shaped)} | (example_of(shaped[0]) if len(shaped) == 1 else {})}
    )
    return "200", {"description": "Done.", "headers": headers, "content": content}


def _any_of(shapes: Sequence[object]) -> JsonObject:
    schemas = [_reference(shape) for shape in shapes]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _errors(route: Route) -> dict[int, list[type[EveryagentError]]]:
    errors: list[type[EveryagentError]] = [BadRequest, Forbidden, *route.errors]
    if not route.public:
        errors += [Unauthorized, RateLimited]
    if route.scopes:
        errors.append(ScopeMissing)
    if route.turns:
        errors.append(BudgetExceeded)
    if route.method in ("POST", "PUT", "PATCH"):
        errors += [TooLarge, UnsupportedMedia]
    if route.effect:
        errors.append(KeyReused)
    by_status: dict[int, list[type[EveryagentError]]] = {}
    for error in dict.fromkeys(errors):
        by_status.setdefault(error.status, []).append(error)
    return dict(sorted(by_status.items()))


def _reference(shape: object) -> JsonObject:
    (schema,), _ = schemas([shape], _REFS)
    return schema
