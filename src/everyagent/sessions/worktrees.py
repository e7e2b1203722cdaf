"""Worktrees of sessions: made with a session, merged or dropped by a request, and removed when it is deleted."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import asdict

from everyagent.errors import (
    BadRequest,
    EveryagentError,
    NoRepository,
    NotFound,
    SessionBusy,
    SessionNotFound,
    WorkNotMerged,
)
from everyagent.git import merging, worktree
from everyagent.git.commands import Git, RepositoryGit
from everyagent.git.repository import Repository, find
from everyagent.git.worktree import Worktree
from everyagent.log.log import Log, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.worktrees import MergedWorktree, MergeWorktree, WorktreeState
from everyagent.sessions.launch.config import SessionConfig, config_of
from everyagent.sessions.launch.isolation import IsolationPolicy
from everyagent.sessions.locks import Locks

#: The message of a commit of files that the agent did not commit, in a session without a title.
_MESSAGE = "Files of a session"
#: A worktree without a session may be one that is being made.
_ORPHAN_SECONDS = 3600.0
_T = TypeVar("_T")
logger = get_logger(__name__)


class Worktrees:
    """`folder` is the daemon's data folder."""

    def __init__(self, folder: Path, log: Log, isolation: IsolationPolicy) -> None:
        self._git = Git(folder / "git")
        self._place = folder / "worktrees"
        self._log = log
        self._isolation = isolation
        self._locks = Locks()

    async def make(self, session_id: str, directory: str) -> tuple[Worktree, str]:
        """A worktree of the repository around a directory, and the folder in it that the directory is."""
        repository = await to_thread.run_sync(find, Path(directory))
        if repository is None:
            raise NoRepository(
                f"{directory!r} is not in a git repository that the daemon can use, so the session cannot have a "
                "worktree. Run `git init` there and commit, or leave `worktree` out.",
                field="worktree",
            )
        made = await self._made(session_id, repository, None, walled=False)
        inside = Path(made.folder) / Path(directory).relative_to(repository.root)
        if not inside.is_dir() or not inside.resolve().is_relative_to(Path(made.folder).resolve()):
            await self._discard(made)
            raise BadRequest(
                f"The last commit of {str(repository.root)!r} has no folder {directory!r}. Commit it first.",
                field="directory",
            )
        return made, str(inside)

    async def copy(self, session_id: str, config: SessionConfig) -> tuple[Worktree, str]:
        """A worktree for a fork: with the commits and the files of its origin's, as they are now."""
        origin = _existing(config.worktree)
        repository = Repository(root=Path(origin.folder), own=Path(origin.own), common=Path(origin.common))
        made = await self._made(session_id, repository, origin, walled=self._isolation.walled(config.isolation))
        inside = Path(made.folder) / Path(config.directory).relative_to(origin.folder)
        return made, str(inside) if inside.is_dir() else made.folder

    @asynccontextmanager
    async def unless_failed(self, made: Worktree | None) -> AsyncGenerator[None]:
        """Removes a new worktree again if its session is not stored at the end of the block."""
        try:
            yield
        except BaseException:
            if made is not None:
                with anyio.CancelScope(shield=True):
                    await self._discard(made)
            raise

    async def _discard(self, made: Worktree) -> None:
        with suppress(SessionNotFound):
            if config_of(await self._log.session(made.session_id)).worktree == made:
                return
        await self._run(made, lambda git: worktree.remove(git, made, keep=()), walled=True)

    async def state(self, session_id: str) -> WorktreeState:
        record = await self._log.session(session_id)
        known = _worktree(record)
        if not known.exists:
            return WorktreeState(**asdict(known.info), exists=False)
        return await self._run(known, partial(_state, known), walled=self._walled(record))

    async def merge(self, session_id: str, request: MergeWorktree) -> MergedWorktree:
        record = await self._log.session(session_id)
        known = _existing(_worktree(record))
        if record.status in ("running", "waiting"):
            raise SessionBusy("A turn of the session runs. Wait until it ends, or cancel it; then merge.")
        merge = partial(_merge, known, request, record.shown_title or _MESSAGE)
        return await self._run(known, merge, walled=self._walled(record))

    async def drop(self, session_id: str, terminate: Callable[[str], Awaitable[None]], *, discard: bool) -> None:
        """Ends the session, and removes its worktree and its branches. Raises `WorkNotMerged`, unless to `discard`."""
        record = await self._log.session(session_id)
        known, walled = _worktree(record), self._walled(record)
        if not discard and known.exists:
            await self._run(known, partial(_require_merged, known), walled=walled)
        await terminate(session_id)
        if not discard and known.exists:
            await self._run(known, partial(_require_merged, known), walled=walled)
        await self._run(known, lambda git: worktree.remove(git, known, keep=()), walled=walled)

    async def release(self, record: SessionRecord) -> str | None:
        """Before a session is deleted: removes its worktree. Returns where its work is that was not merged, if any.

        A restored copy of a log names the worktrees of the original, which are left alone.
        """
        known = config_of(record).worktree
        if known is None:
            return None
        if not Path(known.folder).is_relative_to(self._place):
            return f"the worktree {known.folder} is of another data folder, and is left there"
        return await self._released(known, walled=self._walled(record))

    async def sweep(self) -> None:
        """Releases old worktrees without a session, as a crash or a restored backup leaves them."""
        for known in await to_thread.run_sync(_noted, self._place):
            try:
                await self._log.session(known.session_id)
            except SessionNotFound:
                await self._released(known, walled=True)

    async def _released(self, known: Worktree, *, walled: bool) -> str | None:
        try:
            kept = await self._run(known, partial(worktree.release, worktree=known), walled=walled)
        except (EveryagentError, OSError) as error:
            left = f"the worktree {known.folder} could not be removed, and is left: {error}"
        else:
            left = f"work that was not merged is kept in {known.root} on {', '.join(kept)}" if kept else None
        if left:
            logger.warning("a worktree had work that was not merged", session=known.session_id, left=left)
        return left

    async def _made(
        self, session_id: str, repository: Repository, origin: Worktree | None, *, walled: bool
    ) -> Worktree:
        make = partial(worktree.make, self._git, self._place, session_id, repository, origin, walled=walled)
        async with self._locks.hold(str(repository.common)):
            return await to_thread.run_sync(make)

    def _walled(self, record: SessionRecord) -> bool:
        return self._isolation.walled(config_of(record).isolation)

    async def _run(self, known: Worktree, function: Callable[[RepositoryGit], _T], *, walled: bool) -> _T:
        """One at a time in each repository."""
        async with self._locks.hold(known.common):
            return await to_thread.run_sync(lambda: function(self._git.open(known.repository, walled=walled)))


def _worktree(record: SessionRecord) -> Worktree:
    known = config_of(record).worktree
    if known is None:
        raise NotFound("The session has no worktree: it was created without `worktree`.")
    return known


def _existing(known: Worktree | None) -> Worktree:
    if known is None or not known.exists:
        raise NotFound("The worktree of the session is not there any more: it was dropped, or is on another machine.")
    return known


def _state(known: Worktree, git: RepositoryGit) -> WorktreeState:
    head, work = worktree.work_of(git, known, _MESSAGE)
    target = git.commit_of(f"refs/heads/{known.target}") if known.target else None
    files = worktree.lost(git, known, work)
    conflicts = merging.conflicts(git, target, work)[1] if target and files else []
    return WorktreeState(**asdict(known.info), exists=True, files=files, conflicts=conflicts, uncommitted=work != head)


def _merge(known: Worktree, request: MergeWorktree, title: str, git: RepositoryGit) -> MergedWorktree:
    """The worktree has nothing to commit afterwards."""
    head, work = worktree.work_of(git, known, title)
    merged = merging.merge(git, known, work, request.into, request.message)
    if work != head:
        worktree.save(git, known, head, work)
    return MergedWorktree(branch=merged.branch, commit=merged.commit, files=merged.files)


def _require_merged(known: Worktree, git: RepositoryGit) -> None:
    _, work = worktree.work_of(git, known, _MESSAGE)
    of_branches = [file for files in worktree.unmerged(git, known).values() for file in files]
    files = sorted({*worktree.lost(git, known, work), *of_branches})
    if files:
        raise WorkNotMerged(
            f"The worktree has changes that are not in {known.target or known.base!r}: {merging.named(files)}. Nothing "
            "was dropped. Merge them first, or discard them.",
            files=files,
        )


def _noted(place: Path) -> list[Worktree]:
    """Worktrees that were made some time ago."""
    notes = [worktree.note_of(folder) for folder in place.glob("*")] if place.is_dir() else []
    before = time.time() - _ORPHAN_SECONDS
    old = [note for note in notes if note.is_file() and note.stat().st_mtime < before]
    return [worktree.located(msgspec.json.decode(note.read_bytes(), type=Worktree)) for note in old]
