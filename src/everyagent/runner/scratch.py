"""The private folders of sessions on a runner, in which agents have configuration with secrets, and attachments."""

import hashlib
from pathlib import Path

from anyio import to_thread

from everyagent.private_files import private_folder
from everyagent.runner.spool import Spool
from everyagent.sessions.launch.scratch import remove_folder


class RunnerScratch:
    """A folder is made when an agent is started, and removed when the daemon says that the session has ended.

    The spool remembers of which sessions there are folders: the names of folders do not tell.
    """

    def __init__(self, folder: Path, spool: Spool) -> None:
        self._folder = folder
        self._spool = spool

    def make(self, session_id: str) -> Path:
        self._spool.keep_scratch(session_id)
        private_folder(place := self._folder / _name(session_id))
        return place

    def sessions(self) -> list[str]:
        return self._spool.scratch()

    def sweep(self) -> None:
        """Removes folders of no session: those that agents shared, which have all ended. Call it before any starts."""
        known = {_name(session_id) for session_id in self.sessions()}
        for place in self._folder.iterdir() if self._folder.is_dir() else ():
            if place.name not in known:
                remove_folder(place)

    async def remove(self, session_id: str) -> None:
        await to_thread.run_sync(remove_folder, self._folder / _name(session_id))
        self._spool.drop_scratch(session_id)


def _name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]
