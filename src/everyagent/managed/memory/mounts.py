"""Folders of memory stores in sessions, synchronized with the stores before and after each turn."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from everyagent.errors import EveryagentError, RecordExists, RecordNotFound
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.logs import get_logger
from everyagent.managed.memory.folder import Folder, Seen
from everyagent.managed.memory.memories import Memories
from everyagent.managed.memory.merge import Frozen
from everyagent.managed.memory.shape import MemoryStore, SessionActor
from everyagent.managed.memory.stores import MemoryStores
from everyagent.managed.memory.syncing import Sync
from everyagent.managed.workspace.shape import MAX_MEMORY_STORES, MemoryStoreResource
from everyagent.sessions.locks import Locks

KIND = "session_memory"
#: A record that belongs to a store: a session may have changes that are not in the store yet.
OPEN_KIND = "open_session_memory"
_MOST = 10_000
_PROBLEMS = 20
_MOST_NEW = 2 * _PROBLEMS
logger = get_logger(__name__)


class MountBody(msgspec.Struct, frozen=True, kw_only=True):
    """`files` is the last common state of the folder and the store.

    `reported` has the problems that the session has reported; `unreported` those found while it could not report any.
    """

    name: str
    mount_path: str
    read_only: bool
    files: dict[str, Seen] = {}
    reported: list[str] = msgspec.field(default_factory=list, name="told")
    unreported: list[str] = msgspec.field(default_factory=list, name="untold")


def mounted(session_id: str, resource: MemoryStoreResource) -> Insert:
    """The record of a mount; its key is the store's id."""
    body = MountBody(name=resource.name, mount_path=resource.mount_path, read_only=resource.access == "read_only")
    return Insert(
        kind=KIND,
        id=_id(session_id, resource.memory_store_id),
        parent=session_id,
        key=resource.memory_store_id,
        body=msgspec.json.encode(body),
    )


class Mounts:
    """`place` maps a path of the API to a session's folder; `rests` returns whether a session has no running turn."""

    def __init__(
        self,
        records: Records,
        stores: MemoryStores,
        memories: Memories,
        locks: Locks,
        *,
        place: Callable[[str, str], Path],
        rests: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._records = records
        self._stores = stores
        self._memories = memories
        self._locks = locks
        self._place = place
        self._rests = rests

    async def access(self, session_id: str) -> dict[str, bool]:
        """The session's stores, each with whether it may write to it."""
        return {record.key or "": not _body(record).read_only for record in await self._of(session_id)}

    async def turn_begins(self, session_id: str) -> list[str]:
        """Brings the folders up to date, also with changes of sessions whose turn was cut off. Returns new problems."""
        for store_id in await self.access(session_id):
            await self.settle(store_id, running=False)
        async with self._alone(session_id) as mounts:
            for record in mounts:
                if not _body(record).read_only:
                    await self._open(session_id, record.key or "")
            return await self._sync(session_id, mounts, report=True)

    async def turn_over(self, session_id: str) -> list[str]:
        """Writes the agent's changes to the stores. Returns new problems."""
        async with self._alone(session_id) as mounts:
            problems = await self._sync(session_id, mounts, report=True)
            if mounts and await self._rests(session_id):
                await self._close(mounts)
            return problems

    async def last(self, session_id: str) -> None:
        """Writes the last changes of a session that ends."""
        async with self._alone(session_id) as mounts:
            if await self._has_folders(session_id, mounts):
                await self._sync(session_id, mounts, report=False)
            await self._close(mounts)

    async def settle(self, store_id: str, *, running: bool = True) -> None:
        """Writes the changes of the store's sessions to it: of all sessions, or only of idle ones."""
        wanted = RecordQuery(kind=OPEN_KIND, parent=store_id, limit=_MOST)
        for record in await self._records.page(wanted):
            if running or await self._rests(record.key or ""):
                await self._take_up(record.key or "", [record])

    async def _has_folders(self, session_id: str, mounts: Sequence[Record]) -> bool:
        folders = [self._place(session_id, _body(record).mount_path) for record in mounts]
        return await asyncio.to_thread(lambda: any(folder.is_dir() for folder in folders))

    async def recover(self, left: Sequence[Record]) -> None:
        """Writes the changes that agents had made when a daemon died."""
        for session_id in dict.fromkeys(record.key or "" for record in left):
            await self._take_up(session_id, [record for record in left if record.key == session_id])

    async def _take_up(self, session_id: str, marks: Sequence[Record]) -> None:
        async with self._alone(session_id) as mounts:
            if not await self._has_folders(session_id, mounts):
                return  # the folders are on another node
            await self._sync(session_id, mounts, report=False)
            if await self._rests(session_id):
                await self._close(marks)

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncGenerator[list[Record]]:
        """Locks the session's mounts."""
        async with self._locks.hold(f"memory of {session_id}"):
            yield await self._of(session_id)

    async def _close(self, mounts: Sequence[Record]) -> None:
        for record in mounts:
            try:
                await self._records.write(Delete(kind=OPEN_KIND, id=record.id))
            except RecordNotFound:
                continue  # it was not open, or its store was deleted
            except EveryagentError as error:
                logger.info(
                    "could not mark the memory of a session as synchronized", session=record.parent, why=str(error)
                )

    async def _of(self, session_id: str) -> list[Record]:
        wanted = RecordQuery(kind=KIND, parent=session_id, order="asc", limit=MAX_MEMORY_STORES)
        return await self._records.page(wanted)

    async def _open(self, session_id: str, store_id: str) -> None:
        try:
            await self._stores.retrieve(store_id)
            await self._records.write(
                Insert(kind=OPEN_KIND, id=_id(session_id, store_id), parent=store_id, key=session_id, body=b"{}")
            )
        except (RecordExists, RecordNotFound):
            return  # open already, or its store was deleted

    async def _sync(self, session_id: str, mounts: Sequence[Record], *, report: bool) -> list[str]:
        return [problem for record in mounts for problem in await self._sync_one(session_id, record, report=report)]

    async def _sync_one(self, session_id: str, record: Record, *, report: bool) -> list[str]:
        body, store_id = _body(record), record.key or ""
        try:
            store = await self._stores.retrieve(store_id)
            folder = Folder(self._place(session_id, "/"), body.mount_path.split("/")[1:], read_only=body.read_only)
            sync = Sync(self._memories, store_id, folder, SessionActor(session_id=session_id))
            files = await sync.run(body.files, _frozen(body, store))
            problems = [f"the memory store {body.name!r}: {each}" for each in sync.problems]
        except RecordNotFound:
            files = body.files
            problems = [
                f"the memory store {body.name!r} was deleted: the files in {body.mount_path} are not stored anywhere "
                "else"
            ]
        except (EveryagentError, OSError) as error:
            logger.warning("could not synchronize a memory store", session=session_id, store=store_id, why=str(error))
            files = body.files
            problems = [f"the memory store {body.name!r} and {body.mount_path} could not be synchronized: {error}"]
        if len(problems) > _PROBLEMS:
            more = f"the memory store {body.name!r}: {len(problems) - _PROBLEMS} more like these"
            problems = [*problems[:_PROBLEMS], more]
        new = [*dict.fromkeys(each for each in (*body.unreported, *problems) if each not in body.reported)][:_MOST_NEW]
        reported, unreported = (problems, []) if report else (body.reported, new)
        await self._keep(record, body, replace(body, files=files, reported=reported, unreported=unreported))
        return new if report else []

    async def _keep(self, record: Record, old: MountBody, new: MountBody) -> None:
        """If this fails, the next synchronization has more to compare, and nothing is lost."""
        if new == old:
            return
        try:
            await self._records.write(
                Replace(kind=KIND, id=record.id, version=record.version, body=msgspec.json.encode(new))
            )
        except EveryagentError as error:
            logger.info("could not store the state of a memory mount", session=record.parent, why=str(error))


def _frozen(body: MountBody, store: MemoryStore) -> Frozen | None:
    if body.read_only:
        return "read_only"
    return "archived" if store.archived_at else None


def _id(session_id: str, store_id: str) -> str:
    return f"{session_id}.{store_id}"


def _body(record: Record) -> MountBody:
    return msgspec.json.decode(record.body, type=MountBody)
