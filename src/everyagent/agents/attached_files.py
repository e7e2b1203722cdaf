"""Reads the files attached to a prompt, and writes inline ones to disk. Blocking: adapters call it in a thread."""

import base64
from pathlib import Path

from everyagent.errors import AgentFailed
from everyagent.model.sessions import Attachment

#: Image types that models accept.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def base64_of(attachment: Attachment) -> str:
    return attachment.data or base64.b64encode(_read(attachment.path)).decode()


def mention(attachment: Attachment, folder: Path) -> str:
    """A sentence that names the file, for an agent that reads it itself. Inline data is written to `folder` first."""
    return f"The user attached this file: {attachment.path or _kept(attachment, folder)}"


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
