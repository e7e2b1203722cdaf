"""Synchronizes a session's folder with its memory store, and reports what cannot be synchronized."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from everyagent.errors import EveryagentError, MemoryChanged, NotFound
from everyagent.managed.memory.changes import CreateMemory, MemoryChange, RemoveMemory, UpdateMemory
from everyagent.managed.memory.folder import MAX_ENTRIES, Folder, Scan, Seen
from everyagent.managed.memory.memories import Memories
from everyagent.managed.memory.merge import Drop, Erase, Frozen, Leave, Move, Pull, Push, Same, hidden, merge, wiped
from everyagent.managed.memory.shape import MemoryActor

#: The number of texts in memory at once.
_BATCH = 20
_SHOWN = 200
_WHY: dict[Frozen, str] = {"read_only": "the store is read-only here", "archived": "the store is archived"}
T = TypeVar("T")


class Sync:
    """One synchronization. `problems` lists what failed."""

    def __init__(self, memories: Memories, store_id: str, folder: Folder, actor: MemoryActor) -> None:
        self._memories = memories
        self._store_id = store_id
        self._folder = folder
        self._actor = actor
        self._common: dict[str, Seen] = {}
        self.problems: list[str] = []

    async def run(self, before: Mapping[str, Seen], frozen: Frozen | None) -> dict[str, Seen]:
        """Returns the new common state."""
        scan = await asyncio.to_thread(self._folder.scan, before)
        remote = await self._memories.held(self._store_id)
        blind = {""} if scan.over else set(scan.refused)
        self._common = {
            path: seen for path, seen in before.items() if path in scan.files or path in remote or hidden(path, blind)
        }
        base, local = ({path: seen.sha256 for path, seen in files.items()} for files in (before, scan.files))
        steps = merge(base, local, remote, frozen=frozen, blind=blind)
        self._report_refused(scan)
        if wiped(base, local) and remote and not blind:
            self.problems.append("all files were deleted at once, so they were restored: delete them one by one")
        self._common |= {step.path: scan.files[step.path] for step in steps if isinstance(step, Same)}
        for step in steps:
            match step:
                case Leave():
                    self.problems.append(f"{step.path} is not stored: {_WHY[frozen or 'archived']}")
                case Pull(undone=True):
                    self.problems.append(f"{step.path} was restored from the store: {_WHY['read_only']}")
                case _:
                    continue
        await self._settle([step for step in steps if isinstance(step, Erase | Move)], scan)
        for batch in _batches([step for step in steps if isinstance(step, Push)]):
            await self._push(batch, scan)
        for batch in _batches([step for step in steps if isinstance(step, Pull | Drop)]):
            await self._pull(batch, local)
        return self._common

    async def _settle(self, steps: Sequence[Erase | Move], scan: Scan) -> None:
        """Deletes and moves memories, deletions first, since they may free paths."""
        steps = sorted(steps, key=lambda step: isinstance(step, Move))
        changes: list[MemoryChange] = [
            UpdateMemory(id=step.memory.id, path=step.path, expected=step.memory.sha256)
            if isinstance(step, Move)
            else RemoveMemory(id=step.memory.id, expected=step.memory.sha256)
            for step in steps
        ]
        for step, done in zip(steps, await self._change(steps, changes), strict=True):
            if done:
                self._common.pop(step.memory.path, None)
                if isinstance(step, Move):
                    self._common[step.path] = scan.files[step.path]

    async def _push(self, steps: Sequence[Push], scan: Scan) -> None:
        """Writes files to the store. Files that changed since the scan are left for the next time."""
        texts = await asyncio.to_thread(lambda: [self._text(step.path) for step in steps])
        found = [
            (step, text)
            for step, text in zip(steps, texts, strict=True)
            if text is not None and hashlib.sha256(text).hexdigest() == scan.files[step.path].sha256
        ]
        changes: list[MemoryChange] = [
            UpdateMemory(id=step.over.id, content=text, expected=step.over.sha256)
            if step.over
            else CreateMemory(path=step.path, content=text)
            for step, text in found
        ]
        pushed = [step for step, _ in found]
        for step, done in zip(pushed, await self._change(pushed, changes), strict=True):
            if done:
                self._common[step.path] = scan.files[step.path]

    async def _change(self, steps: Sequence[Erase | Move | Push], changes: Sequence[MemoryChange]) -> list[bool]:
        """Returns whether each change was made. Conflicts are left for the next time."""
        if not changes:
            return []
        outcomes = await self._memories.change(self._store_id, changes, self._actor)
        for step, outcome in zip(steps, outcomes, strict=True):
            if isinstance(outcome, EveryagentError) and not isinstance(outcome, MemoryChanged | NotFound):
                self.problems.append(f"{step.path} is not stored: {outcome.detail}")
        return [not isinstance(outcome, EveryagentError) for outcome in outcomes]

    async def _pull(self, steps: Sequence[Pull | Drop], local: Mapping[str, str]) -> None:
        texts: list[bytes | None] = []
        for step in steps:
            try:
                texts.append(await self._memories.content(step.memory) if isinstance(step, Pull) else None)
            except NotFound:
                texts.append(None)
        await asyncio.to_thread(self._lay_out, steps, texts, local)

    def _lay_out(self, steps: Sequence[Pull | Drop], texts: Sequence[bytes | None], local: Mapping[str, str]) -> None:
        with self._folder.open():
            for step, text in zip(steps, texts, strict=True):
                try:
                    if isinstance(step, Drop):
                        if self._folder.remove(step.path, local[step.path]):
                            self._common.pop(step.path, None)
                    elif text is not None and (seen := self._folder.write(step.path, text, local.get(step.path))):
                        self._common[step.path] = seen
                except OSError as error:
                    self.problems.append(f"{step.path} could not be written to the folder ({error.strerror})")

    def _text(self, path: str) -> bytes | None:
        try:
            return self._folder.read(path)
        except OSError:
            return None  # deleted since the scan

    def _report_refused(self, scan: Scan) -> None:
        if scan.over:
            self.problems.append(
                f"there are more than {MAX_ENTRIES} files: none of them is stored until there are fewer"
            )
        self.problems += [f"{_shown(path)} is not stored: {fault}" for path, fault in sorted(scan.refused.items())]


def _shown(path: str) -> str:
    """A printable form of any file name."""
    return (path if path.isprintable() else ascii(path))[:_SHOWN]


def _batches(steps: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(steps), _BATCH):
        yield steps[start : start + _BATCH]
