"""Decodes requests of Anthropic's SDKs: bracketed query arrays, and unknown fields, which are ignored."""

from collections.abc import Iterator
from functools import cache
from typing import cast, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from everyagent.api.request_decoding import decoded
from everyagent.errors import BadRequest

#: Query parameters that older SDKs send with every request.
_MEANINGLESS = frozenset({"beta"})


def read_query(raw: bytes, into: type[Struct], ignored: list[str]) -> Struct:
    """`types[]=a&types[]=b` and `types=a,b` are lists; `created_at[gte]` is the field `created_at_gte`."""
    fields = _fields(into)
    values: dict[str, str | list[str]] = {}
    for given, value in _pairs(raw):
        name = given.removesuffix("[]").replace("[", "_").removesuffix("]")
        if name not in fields:
            ignored += [given] if given not in _MEANINGLESS else []
        elif fields[name]:
            earlier = values.setdefault(name, [])
            assert isinstance(earlier, list)
            earlier += value.split(",")
        elif name in values:
            raise BadRequest(f"The query parameter `{given}` was given twice.", field=given)
        else:
            values[name] = value
    try:
        return msgspec.convert(values, into, strict=False)
    except msgspec.ValidationError as error:
        from everyagent.api.invalid_input import invalid

        raise invalid("query", error, into, values) from None


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string is not UTF-8.") from None


@cache
def _fields(into: type[Struct]) -> dict[str, bool]:
    """The name of each field, and whether it is a list."""
    return {field.name: _is_list(field.type) for field in msgspec.structs.fields(into)}


def _is_list(kind: object) -> bool:
    """Whether a type is a list, also an optional or annotated one."""
    return get_origin(kind) is list or any(_is_list(part) for part in get_args(kind))


def read_body(raw: bytes, into: type[Struct], ignored: list[str]) -> Struct:
    found = decoded(raw or b"{}")
    try:
        body = msgspec.convert(found, into)
        ignored += _unknown(found, msgspec.to_builtins(body), "")
    except msgspec.ValidationError as error:
        from everyagent.api.invalid_input import invalid

        raise invalid("body", error, into, found) from None
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    return body


def _unknown(given: object, known: object, path: str) -> Iterator[str]:
    """The paths of given fields that the decoded body does not have."""
    if isinstance(given, dict) and isinstance(known, dict):
        known = cast("dict[str, object]", known)
        for name, value in cast("dict[str, object]", given).items():
            if name in known:
                yield from _unknown(value, known[name], f"{path}{name}.")
            else:
                yield path + name
    elif isinstance(given, list) and isinstance(known, list):
        pairs = zip(cast("list[object]", given), cast("list[object]", known), strict=False)
        for index, (one, other) in enumerate(pairs):
            yield from _unknown(one, other, f"{path}{index}.")
