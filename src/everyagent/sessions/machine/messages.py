"""A client's message, as the agent gets it and as the item it becomes."""

import msgspec
from msgspec import Struct

from everyagent.agents.adapter import Prompt
from everyagent.log.log import Input
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, TextPart
from everyagent.model.sessions import Attachment, QueuedMessage, SendMessage


class Entry(Struct, frozen=True, kw_only=True):
    """A message, and the item it will be."""

    item_id: str
    message: SendMessage


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages that are one turn; `managed` is for the view, which hears of it when the turn begins."""

    entries: list[Entry]
    managed: msgspec.Raw | None = None


class _Waiting(Struct, frozen=True):
    """A submission, or a message that came another way."""

    entries: list[Entry] | None = None


def entries_of(input: Input) -> list[Entry]:
    """The messages of one turn."""
    waiting = msgspec.json.decode(input.body, type=_Waiting)
    if waiting.entries is not None:
        return waiting.entries
    return [Entry(item_id=input.item_id, message=msgspec.json.decode(input.body, type=SendMessage))]


def queued(input: Input) -> list[QueuedMessage]:
    return [
        QueuedMessage(item_id=entry.item_id, message=entry.message.message, attachments=len(entry.message.attachments))
        for entry in entries_of(input)
    ]


def prompt_of(item_id: str, message: SendMessage) -> Prompt:
    return Prompt(item_id=item_id, text=message.message, attachments=message.attachments)


def user_item(item_id: str, message: SendMessage) -> Item:
    content: list[ContentPart] = [TextPart(text=message.message)]
    content += [_part(attachment) for attachment in message.attachments]
    return Item(
        item_id=item_id,
        native_item_id=None,
        parent_id=None,
        kind="message",
        role="user",
        status="completed",
        content=content,
    )


def _part(attachment: Attachment) -> ContentPart:
    path = attachment.path or attachment.filename or "attachment"
    if attachment.mime and attachment.mime.startswith("image/"):
        return ImagePart(path=path, mime=attachment.mime, data=attachment.data)
    return FileRefPart(path=path, action="read")
