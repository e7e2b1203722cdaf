"""Encodes a prompt and its files as content blocks. Blocking: the driver calls it in a thread."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.claude import encode
from everyagent.model.sessions import Attachment

_PDF = "application/pdf"


def content(prompt: Prompt, seed: str | None, folder: Path) -> str | list[dict[str, object]]:
    """`seed` goes first: the transcript of the session before this agent joined it.

    A prompt without files stays plain text, because only then are slash commands recognized.
    """
    if not seed and not prompt.attachments:
        return prompt.text
    blocks = [encode.text(seed)] if seed else []
    blocks += [_block(attachment, folder) for attachment in prompt.attachments]
    return [*blocks, encode.text(prompt.text)]


def _block(attachment: Attachment, folder: Path) -> dict[str, object]:
    """Images and PDF documents are sent inline. Of any other file only the path is sent: the agent reads it itself."""
    if attachment.mime in attached_files.IMAGES:
        return _inline("image", attachment)
    if attachment.mime == _PDF:
        return _inline("document", attachment)
    return encode.text(attached_files.mention(attachment, folder))


def _inline(type: str, attachment: Attachment) -> dict[str, object]:
    data = attached_files.base64_of(attachment)
    return {"type": type, "source": {"type": "base64", "media_type": attachment.mime, "data": data}}
