"""A prompt's files as content blocks. Reads and writes files, so it runs in a thread; called by the driver."""

import base64
from pathlib import Path

from everyagent.agents.adapter import Prompt
from everyagent.agents.claude import encode
from everyagent.errors import AgentFailed
from everyagent.model.sessions import Attachment

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
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
    if attachment.mime in _IMAGES:
        return _inline("image", attachment)
    if attachment.mime == _PDF:
        return _inline("document", attachment)
    return encode.text(f"The user attached this file: {attachment.path or _kept(attachment, folder)}")


def _inline(type: str, attachment: Attachment) -> dict[str, object]:
    data = attachment.data or base64.b64encode(_read(attachment.path)).decode()
    return {"type": type, "source": {"type": "base64", "media_type": attachment.mime, "data": data}}


def _read(path: str | None) -> bytes:
    try:
        return Path(path or "").read_bytes()
    except OSError as error:
        raise AgentFailed(f"The attached file could not be read: {error}.") from error


def _kept(attachment: Attachment, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (Path(attachment.filename or "attachment").name or "attachment")
    path.write_bytes(base64.b64decode(attachment.data or ""))
    return path
