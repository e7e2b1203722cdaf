"""Native input of a prompt with its files. Reads and writes files, so it runs in a thread; called by the driver."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.codex.driver import encode
from everyagent.model.sessions import Attachment


def content(prompt: Prompt, seed: str | None, folder: Path) -> list[dict[str, object]]:
    """`seed` goes first: the session's transcript from before this agent."""
    parts = [encode.text(seed)] if seed else []
    parts += [_part(attachment, folder) for attachment in prompt.attachments]
    return [*parts, encode.text(prompt.text)]


def _part(attachment: Attachment, folder: Path) -> dict[str, object]:
    """Images are sent; for any other file the agent gets the path, and reads it itself."""
    if attachment.mime in attached_files.IMAGES:
        if attachment.path:
            return {"type": "localImage", "path": attachment.path}
        return {"type": "image", "url": f"data:{attachment.mime};base64,{attachment.data or ''}"}
    return encode.text(attached_files.mention(attachment, folder))
