"""A prompt's files as native input. Reads and writes files, so it runs in a thread; called by the driver."""

import base64
from pathlib import Path

from everyagent.agents.adapter import Prompt
from everyagent.agents.codex import encode
from everyagent.model.sessions import Attachment

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def content(prompt: Prompt, seed: str | None, folder: Path) -> list[dict[str, object]]:
    """`seed` goes first: what was said in this session before the agent knew of it."""
    parts = [encode.text(seed)] if seed else []
    parts += [_part(attachment, folder) for attachment in prompt.attachments]
    return [*parts, encode.text(prompt.text)]


def _part(attachment: Attachment, folder: Path) -> dict[str, object]:
    """Images go along; of any other file the agent is told where it is, and reads it itself."""
    if attachment.mime in _IMAGES:
        if attachment.path:
            return {"type": "localImage", "path": attachment.path}
        return {"type": "image", "url": f"data:{attachment.mime};base64,{attachment.data or ''}"}
    return encode.text(f"The user attached this file: {attachment.path or _kept(attachment, folder)}")


def _kept(attachment: Attachment, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (Path(attachment.filename or "attachment").name or "attachment")
    path.write_bytes(base64.b64decode(attachment.data or ""))
    return path
