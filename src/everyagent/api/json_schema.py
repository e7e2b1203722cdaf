"""Makes JSON Schemas of the model's structs, and of events as a union discriminated by `type`."""

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import msgspec
from msgspec import Struct

from everyagent.model.events import EVENT_TYPES, Envelope, EventData
from everyagent.model.parts import Json

JsonObject: TypeAlias = dict[str, object]
_ANYTHING: JsonObject = {"description": "Any JSON value."}


def event_schema() -> JsonObject:
    """JSON Schema 2020-12 of an event of any type."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "everyagent events",
        "$ref": "#/$defs/Event",
        "$defs": event_components("#/$defs/{name}"),
    }


def event_components(refs: str) -> dict[str, JsonObject]:
    """One schema per event type, and `Event` for their union."""
    envelopes = [_envelope(data) for data in EVENT_TYPES]
    _, components = schemas(envelopes, refs)
    events: dict[str, JsonObject] = {}
    mapping: dict[str, str] = {}
    for data, envelope in zip(EVENT_TYPES, envelopes, strict=True):
        name = f"{data.__name__}Event"
        if tag := data.__struct_config__.tag_field:  # missing in events of earlier versions
            fields = components[data.__name__]
            fields["required"] = [each for each in msgspec.convert(fields["required"], list[str]) if each != tag]
        schema = components.pop(_component_name(envelope))
        properties = msgspec.convert(schema["properties"], JsonObject)
        required = [*msgspec.convert(schema["required"], list[str]), "raw"]
        events[name] = schema | {
            "title": name,
            "description": data.__doc__ or "",
            "properties": properties | {"type": {"const": data.type}},
            "required": required,
        }
        mapping[data.type] = refs.format(name=name)
    union: JsonObject = {
        "title": "Event",
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    return components | events | {"Event": union}


def _envelope(data: type[EventData]) -> type[Struct]:
    return Envelope[data]  # pyright: ignore[reportReturnType, reportInvalidTypeArguments]


def _component_name(envelope: type[Struct]) -> str:
    (schema,), _ = schemas([envelope], "{name}")
    return str(schema["$ref"])


def schemas(shapes: Sequence[object], refs: str) -> tuple[Sequence[JsonObject], dict[str, JsonObject]]:
    roots, components = msgspec.json.schema_components(shapes, schema_hook=_anything, ref_template=refs)
    return roots, {name: msgspec.convert(_simpler(schema), JsonObject) for name, schema in components.items()}


def _simpler(schema: object) -> object:
    """Replace the union that msgspec makes for any JSON value by an empty schema."""
    match schema:
        case dict():
            fields = msgspec.convert(schema, JsonObject)
            if fields.get("anyOf") == _any_json()["anyOf"]:
                return {key: value for key, value in fields.items() if key != "anyOf"} | _ANYTHING
            return {key: _simpler(value) for key, value in fields.items()}
        case list():
            return [_simpler(value) for value in msgspec.convert(schema, list[object])]
        case _:
            return schema


@cache
def _any_json() -> JsonObject:
    return msgspec.json.schema(Json, schema_hook=_anything)


def _anything(kind: type) -> JsonObject:
    if kind is not object:
        raise NotImplementedError(f"{kind} has no JSON Schema.")
    return _ANYTHING
