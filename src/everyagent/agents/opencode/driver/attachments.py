"""Native parts of a prompt with its files. Writes files, so it runs in a thread; called by the driver."""

from pathlib import Path

from everyagent.agents import attached_files
from everyagent.agents.adapter import Prompt
from everyagent.agents.opencode.driver import encode
from everyagent.model.sessions import Attachment

#: Types that models read.
_SEEN = attached_files.IMAGES | {"application/pdf"}
_TEXT = "text/plain"
#: Text, although the type does not begin with `text/`.
_WORDS = frozenset({"application/json", "application/xml", "application/toml", "application/yaml", "application/x-sh"})


def parts(prompt: Prompt, seed: str | None, folder: Path) -> list[dict[str, object]]:
    """`seed` goes first: the session's transcript from before this agent."""
    before = [encode.text(seed)] if seed else []
    return [*before, encode.text(prompt.text), *(_part(attachment, folder) for attachment in prompt.attachments)]


def _part(attachment: Attachment, folder: Path) -> dict[str, object]:
    """Files that a model can read are sent, text as OpenCode reads it; for any other file the agent gets the path."""
    mime = attachment.mime or ""
    name = Path(attachment.filename or attachment.path or "attachment").name
    words = mime.startswith("text/") or mime in _WORDS
    if mime in _SEEN or words:
        kind = _TEXT if words else mime
        url = Path(attachment.path).as_uri() if attachment.path else f"data:{kind};base64,{attachment.data or ''}"
        return encode.file(url, kind, name)
    return encode.text(attached_files.mention(attachment, folder))
