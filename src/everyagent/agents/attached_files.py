"""The files of a prompt, wherever they are. Reads and writes them, so it runs in a thread; used by adapters."""

import base64
from pathlib import Path

from everyagent.errors import AgentFailed
from everyagent.model.sessions import Attachment

#: The images that models take.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def base64_of(attachment: Attachment) -> str:
    return attachment.data or base64.b64encode(_read(attachment.path)).decode()


def told(attachment: Attachment, folder: Path) -> str:
    """For an agent that reads the file itself. What came without a path is kept in `folder`."""
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
