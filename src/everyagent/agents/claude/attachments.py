"""A prompt's files as content blocks. Reads and writes files, so it runs in a thread; called by the driver."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.claude import encode
from everyagent.model.sessions import Attachment

_PDF = "application/pdf"


def content(prompt: Prompt, seed: str | None, folder: Path) -> str | list[dict[str, object]]:
    """`seed` goes first: what was said in this session before the agent knew of it.

    Words alone stay plain text, since only so a slash command is taken as one.
    """
    if not seed and not prompt.attachments:
        return prompt.text
    blocks = [encode.text(seed)] if seed else []
    blocks += [_block(attachment, folder) for attachment in prompt.attachments]
    return [*blocks, encode.text(prompt.text)]


def _block(attachment: Attachment, folder: Path) -> dict[str, object]:
    """Images and PDF documents go along; of any other file the agent is told where it is, and reads it itself."""
    if attachment.mime in attached_files.IMAGES:
        return _inline("image", attachment)
    if attachment.mime == _PDF:
        return _inline("document", attachment)
    return encode.text(attached_files.told(attachment, folder))


def _inline(type: str, attachment: Attachment) -> dict[str, object]:
    data = attached_files.base64_of(attachment)
    return {"type": type, "source": {"type": "base64", "media_type": attachment.mime, "data": data}}
