"""A prompt's files as native parts. Writes files, so it runs in a thread; called by the driver."""

import base64
from pathlib import Path

from everyagent.agents.adapter import Prompt
from everyagent.agents.opencode.driver import encode
from everyagent.model.sessions import Attachment

#: What models read as it is.
_SEEN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
_TEXT = "text/plain"
#: Text, though its kind does not say so.
_WORDS = frozenset({"application/json", "application/xml", "application/toml", "application/yaml", "application/x-sh"})


def parts(prompt: Prompt, seed: str | None, folder: Path) -> list[dict[str, object]]:
    """`seed` goes first: what was said in this session before the agent knew of it."""
    before = [encode.text(seed)] if seed else []
    return [*before, encode.text(prompt.text), *(_part(attachment, folder) for attachment in prompt.attachments)]


def _part(attachment: Attachment, folder: Path) -> dict[str, object]:
    """What a model can read goes along, text as OpenCode reads it; of any other file the agent is told where it is."""
    mime = attachment.mime or ""
    name = Path(attachment.filename or attachment.path or "attachment").name
    words = mime.startswith("text/") or mime in _WORDS
    if mime in _SEEN or words:
        kind = _TEXT if words else mime
        url = Path(attachment.path).as_uri() if attachment.path else f"data:{kind};base64,{attachment.data or ''}"
        return encode.file(url, kind, name)
    return encode.text(f"The user attached this file: {attachment.path or _kept(attachment, name, folder)}")


def _kept(attachment: Attachment, name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or "attachment")
    path.write_bytes(base64.b64decode(attachment.data or ""))
    return path
