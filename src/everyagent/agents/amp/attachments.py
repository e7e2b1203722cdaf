"""Encodes a prompt and its files as content blocks. Blocking: the driver calls it in a thread."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.amp import encode
from everyagent.model.sessions import Attachment

#: Amp accepts no more in one message; of further ones only the path is sent.
MAX_IMAGES = 4


def content(prompt: Prompt, preface: list[str], folder: Path) -> list[dict[str, object]]:
    """`preface` goes first: the system prompt and the transcript, before the session's first message."""
    blocks = [encode.text(words) for words in preface]
    images = 0
    for attachment in prompt.attachments:
        images += attachment.mime in attached_files.IMAGES
        blocks.append(_block(attachment, folder, inline=images <= MAX_IMAGES))
    return [*blocks, encode.text(prompt.text)]


def _block(attachment: Attachment, folder: Path, *, inline: bool) -> dict[str, object]:
    if attachment.mime in attached_files.IMAGES and inline:
        return encode.image(attachment.mime, attached_files.base64_of(attachment))
    return encode.text(attached_files.mention(attachment, folder))
