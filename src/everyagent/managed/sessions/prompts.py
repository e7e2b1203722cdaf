"""Translates content blocks of clients to prompts and attachments for agents."""

import asyncio
import base64
import mimetypes
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from everyagent.errors import BadRequest, Conflict
from everyagent.managed.resources.files.shape import File
from everyagent.managed.resources.files.store import FileStore
from everyagent.managed.sessions.blocks import (
    Base64Source,
    DocumentBlock,
    DocumentSource,
    FileSource,
    Image,
    ImageSource,
    PlainTextSource,
    Redacted,
    ResultBlock,
    SearchResult,
    Text,
    UrlSource,
)
from everyagent.managed.sessions.client_events import (
    FileRubric,
    SystemMessage,
    TextRubric,
    UserDefineOutcome,
    UserMessage,
)
from everyagent.model.asks import ToolImage
from everyagent.model.sessions import Attachment, SendMessage
from everyagent.sessions.launch.attachments import checked

#: The largest file in a prompt.
MAX_FILE_BYTES = 32 << 20
#: Types of text whose name does not begin with `text/`.
_TEXTS = ("application/json", "application/xml", "application/yaml")
_UNSAFE = re.compile(r"[^\w.-]+")


class ToolOutput(NamedTuple):
    """A tool result as the agent gets it."""

    text: str
    images: Sequence[ToolImage] = ()


class Prompts:
    def __init__(self, files: FileStore) -> None:
        self._files = files

    async def message(self, event: UserMessage) -> SendMessage:
        texts: list[str] = []
        attachments: list[Attachment] = []
        for block in event.content:
            match block:
                case Text():
                    texts.append(block.text)
                case Image() | DocumentBlock():
                    await self._attach(block, texts, attachments)
                case Redacted():
                    texts.append("[redacted]")
                case _:
                    assert_never(block)
        return checked(SendMessage(message="\n\n".join(texts) or "See what is attached.", attachments=attachments))

    async def _attach(self, block: Image | DocumentBlock, texts: list[str], attachments: list[Attachment]) -> None:
        title = block.title if isinstance(block, DocumentBlock) else None
        if isinstance(block, DocumentBlock) and block.context:
            texts.append(block.context)
        source: ImageSource | DocumentSource = block.source
        match source:
            case Base64Source():
                attachments.append(Attachment(data=_sound(source.data), mime=source.media_type, filename=title))
            case PlainTextSource():
                texts.append(f"<document title={title or 'document'!r}>\n{source.data}\n</document>")
            case UrlSource():
                texts.append(f"{title or 'See'}: {source.url}")
            case FileSource():
                file, data = await self._read(source.file_id)
                attachments.append(
                    Attachment(data=_encoded(data), mime=file.mime_type, filename=title or file.filename)
                )
            case _:
                assert_never(source)

    async def result(self, content: Sequence[ResultBlock], folder: Path | None) -> ToolOutput:
        """A tool result as the agent gets it. Documents are files in `folder`; None if the agent reads no files."""
        texts: list[str] = []
        images: list[ToolImage] = []
        for number, block in enumerate(content):
            match block:
                case Image(source=Base64Source() as source):
                    images.append(ToolImage(mime=_pictured(source.media_type), data=_sound(source.data)))
                case Image(source=FileSource() as source):
                    file, data = await self._read(source.file_id)
                    images.append(ToolImage(mime=_pictured(file.mime_type), data=_encoded(data)))
                case DocumentBlock(source=Base64Source() as source):
                    data = base64.b64decode(_sound(source.data))
                    texts.append(await _document(block, source.media_type, data, folder, number))
                case DocumentBlock(source=FileSource() as source):
                    file, data = await self._read(source.file_id)
                    named = replace(block, title=block.title or file.filename)
                    texts.append(await _document(named, file.mime_type, data, folder, number))
                case _:
                    texts.append(_shown(block))
        return ToolOutput("\n\n".join(texts), images)

    async def rubric(self, event: UserDefineOutcome) -> str:
        match event.rubric:
            case TextRubric():
                return event.rubric.content
            case FileRubric():
                _, data = await self._read(event.rubric.file_id)
                return data.decode("utf-8", "replace")
            case _:
                assert_never(event.rubric)

    async def _read(self, file_id: str) -> tuple[File, bytes]:
        file, content = await self._files.open(file_id)
        with content:
            if file.size_bytes > MAX_FILE_BYTES:
                raise BadRequest(
                    f"The file {file_id} has {file.size_bytes} bytes; a message takes {MAX_FILE_BYTES} at most. "
                    "Give it to the session as a resource instead.",
                    field="file_id",
                )
            return file, await asyncio.to_thread(content.read)


def system_text(event: SystemMessage) -> str:
    return "\n\n".join(block.text for block in event.content)


def outcome_text(event: UserDefineOutcome, rubric: str) -> str:
    return (
        f"Work until this outcome is reached:\n\n{event.description}\n\n"
        f"Your work will be judged by this rubric:\n\n{rubric}"
    )


def _shown(block: Text | SearchResult | Image | DocumentBlock) -> str:
    match block:
        case Text():
            return block.text
        case SearchResult():
            return "\n".join((f"{block.title} ({block.source})", *(each.text for each in block.content)))
        case DocumentBlock(source=PlainTextSource(data=data)):
            return _titled(block, data)
        case DocumentBlock(source=UrlSource(url=url)) | Image(source=UrlSource(url=url)):
            return f"See: {url}"
        case _:
            raise AssertionError(f"{type(block).__name__} is no text")


async def _document(block: DocumentBlock, mime: str, data: bytes, folder: Path | None, number: int) -> str:
    """Text as it is; anything else is a file that the agent can read, named in a sentence."""
    if mime.startswith("text/") or mime in _TEXTS:
        return _titled(block, data.decode("utf-8", "replace"))
    if folder is None:
        raise BadRequest(
            f"The agent has no tools that could read a document of the type {mime}. Send its text.", field="events"
        )
    name = _UNSAFE.sub("_", block.title or "document").strip("._") or "document"
    suffix = mimetypes.guess_extension(mime) or ""
    path = folder / f"{number}-{name[:100]}{'' if name.endswith(suffix) else suffix}"
    await asyncio.to_thread(_write, path, data)
    return _titled(block, f"The tool returned this document ({mime}, {len(data)} bytes): {path}")


def _titled(block: DocumentBlock, text: str) -> str:
    return "\n".join(part for part in (block.title, block.context, text) if part)


def _write(path: Path, data: bytes) -> None:
    """The folder is in one that the agent writes to: links of its own are not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    root = path.parents[4]
    if path.parent.resolve() != root.resolve() / path.parent.relative_to(root):
        raise Conflict("The session's folder for documents leads elsewhere, so the document was not written.")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)


def _sound(data: str) -> str:
    try:
        base64.b64decode(data, validate=True)
    except ValueError as error:
        raise BadRequest(f"The `data` of a block is not base64: {error}.", field="events") from error
    return data


def _pictured(media_type: str) -> str:
    if not media_type.startswith("image/"):
        raise BadRequest(f"An `image` cannot be {media_type}. Send it as a `document`.", field="events")
    return media_type


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
