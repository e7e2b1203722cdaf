"""Encodes a prompt and its files as content blocks. Blocking: the driver calls it in a thread."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.acp import encode
from everyagent.agents.adapter import Prompt
from everyagent.model.sessions import Attachment


def blocks(prompt: Prompt, before: list[str], folder: Path, *, images: bool) -> list[dict[str, object]]:
    """`before` are texts that go first: instructions, or the transcript of the session before this agent joined it."""
    attached = [_block(attachment, folder, images=images) for attachment in prompt.attachments]
    return [*map(encode.text, before), *attached, encode.text(prompt.text)]


def _block(attachment: Attachment, folder: Path, *, images: bool) -> dict[str, object]:
    """Images are sent inline to agents that take them. Of any other file only the path is sent."""
    if images and attachment.mime in attached_files.IMAGES:
        return {"type": "image", "mimeType": attachment.mime, "data": attached_files.base64_of(attachment)}
    return encode.text(attached_files.mention(attachment, folder))
