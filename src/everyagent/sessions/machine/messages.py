"""Messages of clients: as they wait, as the agent gets them, and as the items that they become."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from everyagent.agents.adapter import Prompt
from everyagent.log.log import Input
from everyagent.masking.masker import Masker
from everyagent.model.items import Item
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, TextPart
from everyagent.model.principals import EventActor
from everyagent.model.sessions import Attachment, QueuedMessage, SendMessage

#: The length of a session's topic.
TOPIC_CHARS = 80


class InputMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message, and the id of the item that it becomes. `name` is set if the daemon wrote it.

    One with the role `system` has instructions for the model, and comes with a message of a user.
    """

    item_id: str
    message: SendMessage
    name: str | None = None
    role: Literal["user", "system"] = "user"


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages that make one turn. `managed` is for the projection, which reads it when the turn begins.

    `actor` is set while they wait: the client that sent them.
    """

    entries: list[InputMessage]
    managed: msgspec.Raw | None = None
    actor: EventActor | UnsetType = UNSET

    def as_input(self) -> Input:
        """As it waits in the log: a single message as it is, anything else whole."""
        first = self.entries[0]
        plain = len(self.entries) == 1 and self.managed is None and not self.actor and not first.name
        return Input(item_id=first.item_id, body=msgspec.json.encode(first.message if plain else self))


class _Stored(Struct, frozen=True):
    """A submission, or a single message without entries."""

    entries: list[InputMessage] | None = None
    managed: msgspec.Raw = msgspec.Raw(b"null")  # not optional: msgspec decodes a union with `Raw` only if it is null
    actor: EventActor | UnsetType = UNSET


def entries_of(input: Input) -> list[InputMessage]:
    """The messages of one turn."""
    stored = msgspec.json.decode(input.body, type=_Stored)
    if stored.entries is not None:
        return stored.entries
    return [InputMessage(item_id=input.item_id, message=msgspec.json.decode(input.body, type=SendMessage))]


def is_single(input: Input) -> bool:
    """Whether it is one message of a client, and not a turn of the Managed Agents API or of the daemon."""
    stored = msgspec.json.decode(input.body, type=_Stored)
    if stored.entries is None:
        return True
    return len(stored.entries) == 1 and bytes(stored.managed) == b"null" and not stored.entries[0].name


def actor_of(input: Input) -> EventActor | UnsetType:
    return msgspec.json.decode(input.body, type=_Stored).actor


def queued(input: Input) -> list[QueuedMessage]:
    return [
        QueuedMessage(item_id=entry.item_id, message=entry.message.message, attachments=len(entry.message.attachments))
        for entry in entries_of(input)
    ]


def masked_input(masker: Masker, input: Input) -> Input:
    return replace(input, body=masker.mask_json(input.body))


def prompt_of(item_id: str, message: SendMessage) -> Prompt:
    return Prompt(item_id=item_id, text=message.message, attachments=message.attachments)


def joined_prompt(entries: Sequence[InputMessage], *, system_messages: bool) -> Prompt:
    """The prompt of a turn for all its messages. Without `system_messages`, instructions are a part of its text."""
    apart = [entry for entry in entries if system_messages and entry.role == "system"]
    return Prompt(
        item_id=entries[0].item_id,
        text="\n\n".join(_told(entry) for entry in entries if entry not in apart),
        system="\n\n".join(entry.message.message for entry in apart),
        attachments=[attachment for entry in entries for attachment in entry.message.attachments],
    )


def _told(entry: InputMessage) -> str:
    text = entry.message.message
    return text if entry.role == "user" else marked_instructions(text)


def marked_instructions(text: str) -> str:
    """Instructions inside another message, for a model that cannot be given them apart."""
    return f"<system-message>\n{text}\n</system-message>"


def topic_of(entries: Sequence[InputMessage]) -> str:
    """The beginning of the first messages, on one line, for a session without a title. Empty if they have no text."""
    said = (entry.message.message for entry in entries if entry.role == "user")
    begun = " ".join(text[: 10 * TOPIC_CHARS] for text in said)
    text = " ".join("".join(each if each.isprintable() else " " for each in begun).split())
    return text if len(text) <= TOPIC_CHARS else f"{text[: TOPIC_CHARS - 1].rstrip()}…"


def input_item(entry: InputMessage) -> Item:
    content: list[ContentPart] = [TextPart(text=entry.message.message)]
    content += [_part(attachment) for attachment in entry.message.attachments]
    return Item(
        item_id=entry.item_id,
        name=entry.name,
        native_item_id=None,
        parent_id=None,
        kind="message",
        role=entry.role,
        status="completed",
        content=content,
    )


def _part(attachment: Attachment) -> ContentPart:
    path = attachment.path or attachment.filename or "attachment"
    if attachment.mime and attachment.mime.startswith("image/"):
        return ImagePart(path=path, mime=attachment.mime, data=attachment.data)
    return FileRefPart(path=path, action="read")
