"""Reads the files attached to a prompt, and writes inline ones to disk. Blocking: adapters call it in a thread."""

import base64
import filecmp
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from everyagent.agents.adapter import Launch, Prompt
from everyagent.errors import AgentFailed
from everyagent.model.sessions import Attachment

#: Image types that models accept.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def reachable(prompt: Prompt, launch: Launch) -> Prompt:
    """The prompt with paths that the agent can read: behind a wall, a file outside of its directory is copied."""
    if launch.isolation == "none":
        return prompt
    folder = folder_of(prompt, launch)
    return replace(prompt, attachments=[_reachable(each, launch.directory, folder) for each in prompt.attachments])


def folder_of(prompt: Prompt, launch: Launch) -> Path:
    """The folder for the files of one prompt."""
    return launch.scratch / "attachments" / prompt.item_id


def _reachable(attachment: Attachment, directory: Path, folder: Path) -> Attachment:
    if attachment.path is None or Path(attachment.path).resolve().is_relative_to(directory):
        return attachment
    source = Path(attachment.path)
    try:
        copy = _place(folder, source.name, lambda other: filecmp.cmp(source, other, shallow=False))
        shutil.copyfile(source, copy)
    except OSError as error:
        raise AgentFailed(f"The attached file could not be copied for the agent: {error}.") from error
    return replace(attachment, path=str(copy))


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
    data = base64.b64decode(attachment.data or "")
    name = Path(attachment.filename or "attachment").name or "attachment"
    path = _place(folder, name, lambda other: other.read_bytes() == data)
    path.write_bytes(data)
    return path


def _place(folder: Path, name: str, same: Callable[[Path], bool]) -> Path:
    """The path for a file: files of one prompt may have one name. A prompt that is sent again finds its own files."""
    folder.mkdir(parents=True, exist_ok=True)
    path, count = folder / name, 1
    while path.exists() and not same(path):
        count += 1
        path = folder / f"{count}-{name}"
    return path
