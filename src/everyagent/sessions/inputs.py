"""A client's message, as the agent gets it and as the item it becomes."""

import msgspec

from everyagent.agents.adapter import Prompt
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, TextPart
from everyagent.model.sessions import Attachment, QueuedMessage, SendMessage

_messages = msgspec.json.Decoder(SendMessage)


def queued(item_id: str, body: bytes) -> QueuedMessage:
    message = _messages.decode(body)
    return QueuedMessage(item_id=item_id, message=message.message, attachments=len(message.attachments))


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
