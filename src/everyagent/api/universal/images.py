"""The route that serves the image of an item's content part, for browsers."""

import base64
import binascii
import os
import stat
from typing import Annotated

import msgspec
from anyio import to_thread
from msgspec import Meta, Struct

from everyagent.api.response import Response
from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import NotFound, OffsetOutOfRange, SessionNotFound, TooLarge
from everyagent.model.events import Envelope, ItemCompleted
from everyagent.model.parts import ImagePart
from everyagent.sessions import EventsRequest

routes = Routes("events")
LARGEST = 32 << 20
#: Offset, magic bytes and media type of the image formats that are served.
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (0, b"BM", "image/bmp"),
)
_HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=3600",
}
_events = msgspec.json.Decoder(Envelope[ItemCompleted])


class ImageQuery(Struct, frozen=True, kw_only=True):
    """`part` is the index of the image in the item's content."""

    sequence: Annotated[
        int, Meta(ge=1, le=2**53 - 1, description="The sequence of the `item.completed` event with the image.")
    ]
    part: Annotated[int, Meta(ge=0, le=10_000)] = 0


@routes.add(
    "GET",
    "/v1/sessions/{session_id}/image",
    SessionNotFound,
    NotFound,
    OffsetOutOfRange,
    TooLarge,
    media=tuple(media for _, _, media in _MAGIC),
    on_owner=True,
)
async def get_image(call: Call[ImageQuery, Nothing]) -> Response:
    """Get an image of an item, from its event or from the file that the event names. Serves only images."""
    request = EventsRequest(after=call.query.sequence - 1, limit=1, types=[ItemCompleted.type])
    page = await call.sessions.events(call.path["session_id"], request)
    body = await to_thread.run_sync(_bytes_of, _part(page.bodies, call.query))
    media = next((media for at, magic, media in _MAGIC if body[at : at + len(magic)] == magic), None)
    if media is None:
        raise NotFound("The content is not an image in a supported format.")
    return Response(body, media_type=media, headers=_HEADERS)


def _part(found: bytes, query: ImageQuery) -> ImagePart:
    event = _events.decode(found) if found else None
    if event and event.sequence == query.sequence and query.part < len(event.data.item.content):
        part = event.data.item.content[query.part]
        if isinstance(part, ImagePart):
            return part
    raise NotFound(f"Event {query.sequence} has no image at content index {query.part}.")


def _bytes_of(part: ImagePart) -> bytes:
    if part.data is not None:
        try:
            return base64.b64decode(part.data)
        except binascii.Error:
            raise NotFound("The image in the event is not base64.") from None
    if not os.path.isabs(part.path):
        raise NotFound("The image is not in a file on this machine.")
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(part.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFound(f"{part.path} cannot be read: {error.strerror}.", path=part.path) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotFound(f"{part.path} is not a file.", path=part.path)
        if status.st_size > LARGEST:
            raise TooLarge(f"{part.path} is larger than {LARGEST} bytes.")
        return file.read()
