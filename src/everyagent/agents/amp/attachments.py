"""A prompt's files as content blocks. Reads and writes files, so it runs in a thread; called by the driver."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.amp import encode
from everyagent.model.sessions import Attachment

#: Amp takes no more in one message; of the others it is told where they are.
MAX_IMAGES = 4


def content(prompt: Prompt, preface: list[str], folder: Path) -> list[dict[str, object]]:
    """`preface` goes first: what Amp has to know before this session's first message."""
    blocks = [encode.text(words) for words in preface]
    images = 0
    for attachment in prompt.attachments:
        images += attachment.mime in attached_files.IMAGES
        blocks.append(_block(attachment, folder, inline=images <= MAX_IMAGES))
    return [*blocks, encode.text(prompt.text)]


def _block(attachment: Attachment, folder: Path, *, inline: bool) -> dict[str, object]:
    if attachment.mime in attached_files.IMAGES and inline:
        return encode.image(attachment.mime, attached_files.base64_of(attachment))
    return encode.text(attached_files.told(attachment, folder))
