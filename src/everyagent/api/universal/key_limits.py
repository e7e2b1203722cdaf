"""Limits of API keys on the daemon's machine. The owner's token has none.

A key works in folders below one that the operator chose, never without the server's isolation, and names no other file
of the machine: what it could read that way would include the owner's token.
"""

from pathlib import Path

from msgspec.structs import replace

from everyagent.api.context import ApiSettings
from everyagent.errors import Forbidden
from everyagent.git.repository import find
from everyagent.model.principals import current
from everyagent.model.sessions import CreateSession, SendMessage


def checked_creation(request: CreateSession, settings: ApiSettings) -> CreateSession:
    """The request with a directory that a key may use. Raises `Forbidden`."""
    if not current().limited:
        return request
    if request.isolation == "none":
        raise Forbidden("An API key cannot turn off isolation. Leave `isolation` out.", field="isolation")
    root = settings.key_directory
    if root is None or request.runner is not None:  # a runner has its own folder for sessions
        return request
    directory = Path(request.directory or root).expanduser().resolve()
    if not directory.is_relative_to(root.resolve()):
        raise Forbidden(
            f"Sessions of an API key work in {root} and folders below it; {str(directory)!r} is not one. The operator "
            "can choose another folder with `serve --key-directory`.",
            field="directory",
        )
    refuse_data_folder(directory, settings)
    repository = find(directory) if request.worktree else None
    if repository is not None and (repository.borrows or not _within(root, repository.root, repository.common)):
        raise Forbidden(
            f"The git repository of {str(directory)!r} has parts outside of {root}, so an API key cannot have a "
            "worktree of it. Choose another directory, or leave `worktree` out.",
            field="worktree",
        )
    return replace(request, directory=str(directory))


def _within(root: Path, *folders: Path) -> bool:
    return all(folder.is_relative_to(root.resolve()) for folder in folders)


def checked_message(message: SendMessage) -> SendMessage:
    if current().limited and any(each.path is not None for each in message.attachments):
        raise Forbidden(
            "An API key cannot attach files by `path`. Send their `data`, or upload them and send their `fileId`.",
            field="attachments",
        )
    return message


def refuse_data_folder(directory: Path, settings: ApiSettings) -> None:
    """A folder with the daemon's data in it is not for keys: its files have the owner's token among them."""
    data = settings.data_dir
    if current().limited and data is not None and data.resolve().is_relative_to(directory.resolve()):
        raise Forbidden(
            "This folder contains the daemon's data, so an API key cannot use it. Use a folder below it.",
            field="directory",
        )
