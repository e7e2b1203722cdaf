"""Parses multipart forms as a stream, one piece at a time."""

from collections import deque
from collections.abc import AsyncIterator
from typing import TypeAlias

from msgspec import Struct
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from everyagent.api.asgi import Scope
from everyagent.api.request_decoding import header
from everyagent.errors import BadRequest, UnsupportedMedia

MAX_PARTS = 2000
_TEXT_BYTES = 64 << 10


class _Begun(Struct, frozen=True):
    headers: dict[bytes, bytes]


class _Ended(Struct, frozen=True):
    pass


_Event: TypeAlias = _Begun | bytes | _Ended


class FormPart:
    """One field or file of a form. `filename` is as sent by the client: do not trust it."""

    def __init__(self, headers: dict[bytes, bytes], pieces: AsyncIterator[bytes]) -> None:
        _, options = parse_options_header(headers.get(b"content-disposition", b""))
        self.name = options.get(b"name", b"").decode("utf-8", "replace")
        filename = options.get(b"filename")
        self.filename = None if filename is None else filename.decode("utf-8", "replace")
        self.media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip() or None
        self.pieces = pieces

    async def text(self) -> str:
        found = b""
        async for piece in self.pieces:
            found += piece
            if len(found) > _TEXT_BYTES:
                raise BadRequest(f"The field `{self.name}` is too long.", field=self.name)
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise BadRequest(f"The field `{self.name}` is not UTF-8.", field=self.name) from None


class MultipartForm:
    """Iterate over its parts; unread content of a part is skipped."""

    def __init__(self, scope: Scope, pieces: AsyncIterator[bytes]) -> None:
        kind, options = parse_options_header(header(scope, b"content-type"))
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise UnsupportedMedia("Send this as `multipart/form-data`.")
        self._pieces = pieces
        self._events: deque[_Event] = deque()
        self._headers: dict[bytes, bytes] = {}
        self._field = self._value = b""
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_begin,
                    "on_part_data": self._on_data,
                    "on_part_end": lambda: self._events.append(_Ended()),
                    "on_header_field": self._on_field,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header,
                    "on_headers_finished": lambda: self._events.append(_Begun(self._headers)),
                },
            )
        except FormParserError as error:
            raise _broken(error) from None

    async def __aiter__(self) -> AsyncIterator[FormPart]:
        for _ in range(MAX_PARTS):
            begun = await self._next()
            while begun is not None and not isinstance(begun, _Begun):
                begun = await self._next()
            if begun is None:
                return
            content = self._content()
            yield FormPart(begun.headers, content)
            async for _ in content:
                pass
        raise BadRequest(f"A form has at most {MAX_PARTS} parts.")

    async def _content(self) -> AsyncIterator[bytes]:
        while True:
            event = await self._next()
            if isinstance(event, bytes):
                yield event
            elif event is None:
                raise BadRequest("The form ends in the middle of a part.")
            else:
                return

    async def _next(self) -> _Event | None:
        while not self._events:
            try:
                piece = await anext(self._pieces)
                self._parser.write(piece)
            except StopAsyncIteration:
                return None
            except FormParserError as error:
                raise _broken(error) from None
        return self._events.popleft()

    def _on_begin(self) -> None:
        self._headers = {}

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        self._events.append(data[start:end])

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field = self._value = b""


def _broken(error: FormParserError) -> BadRequest:
    return BadRequest(f"The form cannot be read: {error}.")
