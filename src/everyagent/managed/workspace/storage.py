"""Finds out whether a session's workspace was left on the disk of another node of the cluster."""

import asyncio
import os
import uuid
from pathlib import Path

import msgspec

from everyagent.errors import RecordChanged, RecordExists, RecordNotFound
from everyagent.log.records import Delete, Insert, Records, Replace

KIND = "workspace_storage"
LEFT_BEHIND = (
    "This session ran on another machine before. Files that its agent left there, other than outputs that were listed, "
    "are not here: the workspace was made again from the session's resources."
)
_NAME = ".storage"


class _Storage(msgspec.Struct, frozen=True):
    id: str


class WorkspaceStorage:
    """`folder` holds the workspaces. Its id is in a file there, so that nodes that mount the same one have the same."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records = records
        self._folder = folder

    async def left_behind(self, session_id: str) -> bool:
        """True if the session last ran with another folder. From now on it runs with this one."""
        here = await asyncio.to_thread(_id_of, self._folder)
        body = msgspec.json.encode(_Storage(here))
        try:
            found = await self._records.find(KIND, session_id)
        except RecordNotFound:
            try:
                await self._records.write(Insert(kind=KIND, id=session_id, body=body))
            except RecordExists:
                return await self.left_behind(session_id)
            return False
        if msgspec.json.decode(found.body, type=_Storage).id == here:
            return False
        try:
            await self._records.write(Replace(kind=KIND, id=session_id, version=found.version, body=body))
        except RecordChanged:
            return await self.left_behind(session_id)
        return True

    async def forget(self, session_id: str) -> None:
        try:
            await self._records.write(Delete(kind=KIND, id=session_id))
        except RecordNotFound:
            return


def _id_of(folder: Path) -> str:
    path = folder / _NAME
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = folder / f"{_NAME}.{uuid.uuid4().hex}"
        draft.write_text(uuid.uuid4().hex)
        try:
            os.link(draft, path)
        except FileExistsError:  # another node that mounts it was first
            pass
        finally:
            draft.unlink()
    return path.read_text()
