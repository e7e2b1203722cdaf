"""Decodes query strings and bodies of requests. An invalid field is a 400 that names it."""

import hashlib
import tempfile
from collections.abc import AsyncIterator
from functools import cache
from typing import BinaryIO, TypeVar, get_origin
from urllib.parse import unquote_plus

import msgspec
from anyio import to_thread

from everyagent.api.asgi import ClientDisconnect, Receive, Scope
from everyagent.errors import BadRequest, TooLarge, UnsupportedMedia

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

_PIECE = 1 << 20
_ANYTHING = msgspec.json.Decoder(object)


def header(scope: Scope, name: bytes) -> str | None:
    """The last value of a header, or None. `name` is in lower case."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1") if values else None


def media_type(scope: Scope) -> str:
    return (header(scope, b"content-type") or "").partition(";")[0].strip().lower()


def decode_query(raw: bytes, into: type[S]) -> S:
    """Decode a query string. Names can be camelCase or snake_case; lists are repeated or separated by commas."""
    fields = _fields(into)
    values: dict[str, str | list[str]] = {}
    sent: dict[str, str] = {}  # parameters as the client spelled them
    for pair in raw.decode("latin-1").split("&") if raw else ():
        given, _, text = pair.partition("=")
        spelled, value = _unquoted(given), _unquoted(text)
        name = _camel(spelled)
        sent[name] = spelled
        field = fields.get(name)
        if field is None:
            known = ", ".join(sorted(fields)) or "none"
            raise BadRequest(f"Unknown query parameter `{spelled}`. Known parameters: {known}.", field=spelled)
        if get_origin(field.type) is list:
            earlier = values.setdefault(name, [])
            assert isinstance(earlier, list)
            earlier += value.split(",")
        elif name in values:
            raise BadRequest(f"The query parameter `{spelled}` was given twice.", field=spelled)
        else:
            values[name] = value
    try:
        query = msgspec.convert(values, into, strict=False)
    except msgspec.ValidationError as error:
        from everyagent.api.invalid_input import invalid

        raise invalid("query", error, into, values, sent) from None
    for name in values:
        if getattr(query, fields[name].name) is None:
            raise BadRequest(f"The query parameter `{sent[name]}` cannot be null. Leave it out.", field=sent[name])
    return query


@cache
def _fields(into: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(into)}


def decode_json(body: bytes, decoder: msgspec.json.Decoder[S]) -> S:
    try:
        return _decoded(body or b"{}", decoder)
    except msgspec.ValidationError as error:
        from everyagent.api.invalid_input import invalid, undecoded

        raise invalid("body", error, decoder.type, undecoded(body)) from None


def decoded(body: bytes) -> object:
    """Decode any JSON value."""
    return _decoded(body, _ANYTHING)


def _decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise BadRequest(f"The body has an invalid number: {error}.") from None


def require_json(scope: Scope) -> None:
    """Require a JSON content type: web pages cannot send it to another site without a CORS preflight."""
    found = media_type(scope)
    if found != "application/json" and not found.endswith("+json"):
        raise UnsupportedMedia("Send the body with `Content-Type: application/json`.", contentType=found or None)


async def chunks(scope: Scope, receive: Receive, limit: int) -> AsyncIterator[bytes]:
    """The body in chunks. Raises `TooLarge` as soon as it exceeds the limit."""
    announced = header(scope, b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if piece:
            yield piece
        if not message.get("more_body", False):
            return


async def whole(scope: Scope, receive: Receive, limit: int) -> bytes:
    return b"".join([piece async for piece in chunks(scope, receive, limit)])


async def pieces(scope: Scope, receive: Receive, limit: int) -> AsyncIterator[bytes]:
    """The body in pieces of about 1 MiB, large enough to be handed to a worker thread."""
    gathered: list[bytes] = []
    size = 0
    async for chunk in chunks(scope, receive, limit):
        gathered.append(chunk)
        size += len(chunk)
        if size >= _PIECE:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


async def spool(scope: Scope, receive: Receive, limit: int) -> tuple[BinaryIO, bytes]:
    """Write the body to a temporary file. Returns the file, rewound, and the SHA-256 of the body."""
    file = await to_thread.run_sync(tempfile.TemporaryFile)
    digest = hashlib.sha256()
    try:
        async for piece in pieces(scope, receive, limit):
            digest.update(piece)
            await to_thread.run_sync(file.write, piece)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file, digest.digest()


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the limit of {limit} bytes.", limit=limit)


def _unquoted(text: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string is not UTF-8.") from None


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
