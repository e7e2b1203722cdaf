"""Translates content blocks of clients to prompts and attachments for agents."""

import asyncio
import base64
from collections.abc import Sequence
from typing import assert_never

import msgspec

from everyagent.errors import BadRequest
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

    async def images(self, content: Sequence[ResultBlock]) -> list[ToolImage]:
        """The images of a tool result that can be passed to the agent."""
        found: list[ToolImage] = []
        for block in content:
            match block:
                case Image(source=Base64Source() as source):
                    found.append(ToolImage(mime=_pictured(source.media_type), data=_sound(source.data)))
                case Image(source=FileSource() as source):
                    file, data = await self._read(source.file_id)
                    found.append(ToolImage(mime=_pictured(file.mime_type), data=_encoded(data)))
                case _:
                    continue
        return found

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


def shows(block: ResultBlock) -> bool:
    """Whether a block is an image that can be passed to the agent."""
    return isinstance(block, Image) and isinstance(block.source, Base64Source | FileSource)


def result_text(content: Sequence[ResultBlock]) -> str:
    """A tool result as text."""
    return "\n\n".join(map(_shown, content))


def _shown(block: ResultBlock) -> str:
    match block:
        case Text():
            return block.text
        case SearchResult():
            return "\n".join((f"{block.title} ({block.source})", *(each.text for each in block.content)))
        case DocumentBlock(source=PlainTextSource(data=data)):
            return data
        case DocumentBlock() | Image():
            return msgspec.json.encode({"type": "omitted", "source": _described(block.source)}).decode()
        case _:
            assert_never(block)


def _described(source: ImageSource | DocumentSource) -> str:
    match source:
        case Base64Source():
            return f"{source.media_type}, {len(source.data) * 3 // 4} bytes"
        case PlainTextSource():
            return "text"
        case UrlSource():
            return source.url
        case FileSource():
            return source.file_id
        case _:
            assert_never(source)


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
