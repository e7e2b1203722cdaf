"""The private folder of each session on this machine, in which adapters keep configuration files with tokens."""

import secrets
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from anyio import to_thread

from everyagent.errors import SessionNotFound
from everyagent.log.log import SessionRecord

#: Holds the folders of agents that several sessions share; see `agents/walls.py`.
SHARED = "shared"


class ScratchFolders:
    """A folder is made when an agent is started, and removed with the session. It is named by the session's number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def data_folder(self) -> Path:
        """The daemon's data folder, which holds these folders."""
        return self._folder.parent.resolve()

    def make(self, session: int) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._folder / str(session)
        place.mkdir(mode=0o700, exist_ok=True)
        return place

    def set_aside_shared(self) -> None:
        """Call before any agent is started: the shared folders of the last daemon are left to `sweep`, all at once."""
        shared = self._folder / SHARED
        if shared.exists():
            shared.rename(self._folder / f"left-{secrets.token_hex(8)}")

    async def remove(self, session: int) -> None:
        await to_thread.run_sync(remove_folder, self._folder / str(session))

    async def sweep(self, session_of: Callable[[int], Awaitable[SessionRecord]]) -> None:
        """Removes the folders of sessions that have ended or were deleted, as a crash leaves them."""
        for name in await to_thread.run_sync(_names, self._folder):
            if name == SHARED:
                continue
            try:
                ended = not name.isdecimal() or (await session_of(int(name))).status == "ended"
            except SessionNotFound:
                ended = True
            if ended:
                await to_thread.run_sync(remove_folder, self._folder / name)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def remove_folder(place: Path) -> None:
    """An agent may have made it a link or a file."""
    if place.is_symlink() or place.is_file():
        place.unlink(missing_ok=True)
    else:
        shutil.rmtree(place, ignore_errors=True)
