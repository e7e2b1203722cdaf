"""Renders the OpenAPI document as one HTML page without scripts, for `GET /docs`. Pure.

The page is the same for everybody and has no data of sessions, so it needs no token.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import Final, TypeAlias

import msgspec

from everyagent.api.asgi import Scope
from everyagent.api.response import Response
from everyagent.errors import MethodNotAllowed

JsonObject: TypeAlias = dict[str, object]
_REF: Final = "#/components/schemas/"
_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
  --muted: color-mix(in srgb, CanvasText 65%, Canvas); --line: color-mix(in srgb, CanvasText 20%, Canvas) }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
nav a { margin-right: 1rem } .muted, small { color: var(--muted) }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .5rem 1rem }
summary { cursor: pointer } summary span { color: var(--muted); margin-left: .5rem }
code, pre { font: .875rem/1.5 ui-monospace, monospace } b { display: inline-block; min-width: 4.5rem }
pre { overflow: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .5rem }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-top: 1px solid var(--line) }
"""
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def answer(scope: Scope, document: Callable[[], bytes]) -> Response:
    """Takes some time when it is called first, so not in the event loop."""
    if scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed(
            f"{scope['path']} does not support {scope['method']}. It supports GET.", allow=["GET", "HEAD"]
        )
    return Response(page(document()), headers=_HEADERS)


@lru_cache(maxsize=1)
def page(document: bytes) -> bytes:
    described = msgspec.json.decode(document, type=JsonObject)
    info, paths = _object(described["info"]), _object(described["paths"])
    operations = [
        (method, path, _object(operation))
        for path, methods in paths.items()
        for method, operation in _object(methods).items()
    ]
    tags = [str(_object(tag)["name"]) for tag in _list(described["tags"])]
    links = " ".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in [*tags, "schemas"])
    body = "".join(
        [
            f"<h1>{escape(str(info['title']))} {escape(str(info['version']))}</h1>",
            f"<p>{escape(str(info['description']))}</p>",
            "<p>This page is made from the OpenAPI document at <code>/openapi.json</code>. In the examples, "
            "<code>$URL</code> is the address of the daemon, <code>$TOKEN</code> its token or an API key.</p>",
            f"<nav>{links}</nav>",
            *(_section(tag, [each for each in operations if tag in _list(each[2]["tags"])]) for tag in tags),
            '<h2 id="schemas">schemas</h2>',
            *(_schema(name, _object(schema)) for name, schema in _schemas(described).items()),
        ]
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(str(info['title']))} API</title><style>{_STYLE}</style><body>{body}</body></html>"
    ).encode()


def _schemas(described: JsonObject) -> Mapping[str, object]:
    return dict(sorted(_object(_object(described["components"])["schemas"]).items()))


def _section(tag: str, operations: Iterable[tuple[str, str, JsonObject]]) -> str:
    return f'<h2 id="{escape(tag)}">{escape(tag)}</h2>' + "".join(_operation(*each) for each in operations)


def _operation(method: str, path: str, operation: JsonObject) -> str:
    body = _json_content(_object(operation.get("requestBody", {})))
    parts = [
        f"<details><summary><b>{method.upper()}</b><code>{escape(path)}</code>"
        f"<span>{escape(str(operation['summary']))}</span></summary>",
        f'<div id="{escape(str(operation["operationId"]))}">',
        f"<p>{escape(str(operation.get('description', '')))}</p>",
        _parameters(_list(operation["parameters"])),
        f"<p>Body: {_type(_object(body['schema']))}</p>" if body else "",
        f"<pre>{escape(_curl(method, path, body.get('example')))}</pre>",
        _responses(_object(operation["responses"])),
        "</div></details>",
    ]
    return "".join(parts)


def _curl(method: str, path: str, example: object) -> str:
    verb = "" if method == "get" else f" -X {method.upper()}"
    line = f'curl{verb} "$URL{path}" -H "Authorization: Bearer $TOKEN"'
    if example is None:
        return line
    text = msgspec.json.encode(example).decode().replace("'", "'\\''")
    return f"{line} \\\n  -H 'content-type: application/json' -d '{text}'"


def _parameters(parameters: list[object]) -> str:
    rows = [
        (
            f"<code>{escape(str(each['name']))}</code>",
            f"{each['in']}{', required' if each['required'] else ''}",
            _type(_object(each["schema"])),
            escape(str(each.get("description", ""))),
        )
        for each in map(_object, parameters)
    ]
    return _table(("parameter", "in", "type", ""), rows)


def _responses(responses: JsonObject) -> str:
    rows = list[tuple[str, str, str]]()
    example = ""
    for status, found in responses.items():
        response = _object(found)
        content = _json_content(response)
        media = ", ".join(escape(each) for each in _object(response.get("content", {})))
        shape = _type(_object(content["schema"])) if content else media
        rows.append((f"<code>{status}</code>", shape, escape(str(response["description"]))))
        if "example" in content:
            text = msgspec.json.format(msgspec.json.encode(content["example"]), indent=2).decode()
            example += f"<p>Response {status}:</p><pre>{escape(text)}</pre>"
    return _table(("status", "body", ""), rows) + example


def _schema(name: str, schema: JsonObject) -> str:
    required = _list(schema.get("required", []))
    rows = [
        (
            f"<code>{escape(field)}</code>",
            _type(_object(found)) + (" <small>required</small>" if field in required else ""),
            escape(str(_object(found).get("description", ""))),
        )
        for field, found in _object(schema.get("properties", {})).items()
    ]
    shape = _table(("field", "type", ""), rows) if rows else f"<p>{_type(schema)}</p>"
    return (
        f'<details><summary><code>{escape(name)}</code></summary><div id="schema-{escape(name)}">'
        f"<p>{escape(str(schema.get('description', '')))}</p>{shape}</div></details>"
    )


def _type(schema: JsonObject) -> str:
    """The type in few words, with links to named schemas."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = escape(reference.removeprefix(_REF))
        return f'<a href="#schema-{name}">{name}</a>'
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_type(_object(each)) for each in _list(schema[key])))
    if "enum" in schema or "const" in schema:
        values = _list(schema["enum"]) if "enum" in schema else [schema["const"]]
        return " ".join(f"<code>{escape(msgspec.json.encode(each).decode())}</code>" for each in values)
    if "items" in schema:
        return f"list of {_type(_object(schema['items']))}"
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and "properties" not in schema:
        return f"map of {_type(msgspec.convert(values, JsonObject))}"
    return escape(str(schema.get("type", "any"))) + escape("".join(_bounds(schema)))


def _bounds(schema: JsonObject) -> Iterator[str]:
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "minLength": "length ≥", "maxLength": "length ≤"}
    for name, sign in names.items():
        if name in schema:
            yield f", {sign} {schema[name]}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{each}</th>' for each in head)}</tr>{cells}</table>" if cells else ""


def _json_content(holder: JsonObject) -> JsonObject:
    return _object(_object(holder.get("content", {})).get("application/json", {}))


def _object(value: object) -> JsonObject:
    return msgspec.convert(value, JsonObject)


def _list(value: object) -> list[object]:
    return msgspec.convert(value, list[object])
