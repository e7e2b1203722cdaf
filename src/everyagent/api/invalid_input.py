"""Explains why input does not fit its type: the path with the keys of maps, and the allowed values and fields.

Imported only when input is invalid. Input can be hostile: paths are walked without recursion, and texts are bounded.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Literal, TypeAlias, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from everyagent.errors import BadRequest

#: Larger bodies are not decoded again to find the keys of maps.
_MAX_BODY = 1 << 20
_MAX_CHOICES = 60
_MAX_KEY = 80
_MAX_TEXT = 300
_AT = re.compile(r" - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`$")
_NAMED = re.compile(r"Object (?:contains|missing) (?P<what>unknown|required) field `(?P<name>[^`]*)`")
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|\[\.\.\.\]")

#: The members of a union, or one type.
_Types: TypeAlias = list[object]


def invalid(
    where: str, error: msgspec.ValidationError, into: object, value: object, sent: Mapping[str, str] | None = None
) -> BadRequest:
    """The error for input that is not an `into`, with the path of the field as the client `sent` it.

    `value` is the input as it was decoded, or None if it is not known.
    """
    text, field = explained(error, into, value, sent)
    return BadRequest(f"Invalid {where}: {text}", field=field)


def undecoded(body: bytes) -> object:
    """Any JSON value of a body, or None if it is large or not JSON."""
    try:
        return msgspec.json.decode(body) if len(body) <= _MAX_BODY else None
    except (ValueError, RecursionError):
        return None


def explained(
    error: msgspec.ValidationError, into: object, value: object, sent: Mapping[str, str] | None = None
) -> tuple[str, str | None]:
    """A sentence about the error, and the path of the field."""
    text = str(error)
    at, named = _AT.search(text), _NAMED.match(text)
    what = _cut(text[: at.start()] if at else text, _MAX_TEXT)
    types, path = _followed(at["path"] if at else "", _members(into), value, sent or {})
    if named:
        path += f".{named['name']}"
    field = _cut(path.removeprefix("."), _MAX_TEXT)
    if at and at["key"]:
        types = [member for kind in types for member in _members(*get_args(kind)[:1])]
        what += " as a key"
    return f"{what}{f' (at `{field}`)' if field else ''}.{_hint(what, named, types)}", field or None


def _hint(what: str, named: "re.Match[str] | None", types: _Types) -> str:
    if named and named["what"] == "unknown":
        return f" Known fields: {_listed(name for kind in types for name in _field_names(kind))}."
    if what.startswith(("Invalid enum value", "Invalid value")) and (values := _listed(_values(types))):
        return f" Allowed values: {values}."
    return ""


def _followed(steps: str, types: _Types, value: object, sent: Mapping[str, str]) -> tuple[_Types, str]:
    """The types at the end of a path, and the path with the keys of maps. Fields have the names that were `sent`."""
    path = ""
    for step in _STEP.finditer(steps):
        if name := step["field"]:
            types = [member for kind in types for member in _field_types(kind, name, value)]
            value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
            path += f".{name if path else sent.get(name, name)}"
        elif step["index"]:
            index = int(step["index"])
            types = [member for kind in types for member in _items(kind, index)]
            items = cast("list[object]", value) if isinstance(value, list) else []
            value = items[index] if index < len(items) else None
            path += step[0]
        else:
            found = _culprit(types, value)
            types = [member for kind in types if _is_map(kind) for member in _members(get_args(kind)[1])]
            value = found[1] if found else None
            path += f"[{msgspec.json.encode(_cut(found[0], _MAX_KEY)).decode()}]" if found else step[0]
    return types, path


def _culprit(types: _Types, value: object) -> tuple[str, object] | None:
    """The first entry of a map whose value is wrong."""
    maps = [kind for kind in types if _is_map(kind)]
    if len(maps) != 1 or not isinstance(value, dict):
        return None
    wanted = get_args(maps[0])[1]
    for key, each in cast("dict[str, object]", value).items():
        try:
            msgspec.convert(each, wanted)
        except (msgspec.ValidationError, RecursionError):
            return key, each
    return None


def _members(*types: object) -> _Types:
    """Types without annotations, and unions as their members."""
    found: _Types = []
    waiting = list(types)
    while waiting:
        kind = waiting.pop(0)
        origin = get_origin(kind)
        if origin is Annotated:
            waiting.insert(0, get_args(kind)[0])
        elif origin in (Union, UnionType):
            waiting[:0] = get_args(kind)
        else:
            found.append(kind)
    return found


def _is_map(kind: object) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _items(kind: object, index: int) -> _Types:
    """The types of an element of a list or a tuple."""
    arguments = get_args(kind)
    if get_origin(kind) is tuple and arguments[-1:] != (...,):
        return _members(*arguments[index : index + 1])
    return _members(*arguments[:1])


def _field_types(kind: object, name: str, value: object) -> _Types:
    """The types of a field. That of a tag is the literal of its value."""
    if not isinstance(kind, type) or not issubclass(kind, Struct):
        return []
    config = kind.__struct_config__
    if config.tag is not None and config.tag_field is not None:
        if name == config.tag_field:
            return [Literal[config.tag]]
        if isinstance(value, dict) and cast("dict[str, object]", value).get(config.tag_field) != config.tag:
            return []
    return [member for each in structs.fields(kind) if each.encode_name == name for member in _members(each.type)]


def _field_names(kind: object) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind.__struct_config__.tag_field is not None:
            yield kind.__struct_config__.tag_field
        yield from (each.encode_name for each in structs.fields(kind))


def _values(types: _Types) -> Iterator[str]:
    for kind in types:
        if get_origin(kind) is Literal:
            yield from map(str, get_args(kind))
        elif isinstance(kind, type) and issubclass(kind, Enum):
            yield from (str(member.value) for member in kind)


def _listed(names: Iterator[str]) -> str:
    known = list(dict.fromkeys(names))
    more = len(known) - _MAX_CHOICES
    return ", ".join(known[:_MAX_CHOICES]) + (f" and {more} more" if more > 0 else "")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
