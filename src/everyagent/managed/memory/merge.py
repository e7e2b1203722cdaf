"""Three-way merge of a session's folder and its memory store. Pure.

Nothing is lost: if both changed a memory, the folder's text wins and the store's stays as a version; if one changed it
and the other deleted it, it stays.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.managed.memory.changes import StoredMemory
from everyagent.managed.memory.paths import folders_of


class Same(Struct, frozen=True, kw_only=True):
    """Both sides are equal."""

    path: str


class Push(Struct, frozen=True, kw_only=True):
    """Write the folder's text to the store; `over` is the memory it replaces."""

    path: str
    over: StoredMemory | None


class Move(Struct, frozen=True, kw_only=True):
    """The agent moved the file: move the memory."""

    path: str
    memory: StoredMemory


class Erase(Struct, frozen=True, kw_only=True):
    """The agent deleted the file: delete the memory."""

    path: str
    memory: StoredMemory


class Pull(Struct, frozen=True, kw_only=True):
    """Write the store's text to the folder; `undone`: it replaces a change that the agent was not allowed to make."""

    path: str
    memory: StoredMemory
    undone: bool = False


class Drop(Struct, frozen=True, kw_only=True):
    """The memory was deleted: delete the file."""

    path: str


class Leave(Struct, frozen=True, kw_only=True):
    """The store takes no changes: leave the agent's file in the folder only."""

    path: str


#: Why a session cannot write to a store.
Frozen: TypeAlias = Literal["read_only", "archived"]
MergeStep: TypeAlias = Same | Push | Move | Erase | Pull | Drop | Leave


def merge(
    base: Mapping[str, str],
    local: Mapping[str, str],
    remote: Mapping[str, StoredMemory],
    *,
    frozen: Frozen | None,
    blind: Set[str] = frozenset(),
) -> list[MergeStep]:
    """`base` is the last common state, `local` the folder's: digests by path.

    `frozen`: the store takes no changes. `blind`: paths at and below which the folder could not be read.
    """
    if wiped(base, local):
        base = {}
    paths = sorted({*base, *local, *remote})
    steps = [
        step
        for path in paths
        if not hidden(path, blind)
        if (step := _step(path, base.get(path), local.get(path), remote.get(path), frozen=frozen))
    ]
    return [*_moved(steps, local)]


def wiped(base: Mapping[str, str], local: Mapping[str, str]) -> bool:
    """All files are gone at once, so the folder was deleted rather than its memories."""
    return len(base) > 1 and not local


def hidden(path: str, blind: Set[str]) -> bool:
    """Whether a path is at or below one of these; the empty one is the root."""
    return bool(blind) and not blind.isdisjoint((path, *folders_of(path)))


def _step(
    path: str, base: str | None, local: str | None, remote: StoredMemory | None, *, frozen: Frozen | None
) -> MergeStep | None:
    theirs = remote.sha256 if remote else None
    if local == theirs:
        return Same(path=path) if local is not None else None
    if remote is None:
        if local == base:
            return Drop(path=path)
        return Leave(path=path) if frozen else Push(path=path, over=None)
    if local == base or (local is None and theirs != base):
        return Pull(path=path, memory=remote)
    if local is None:
        return Pull(path=path, memory=remote) if frozen else Erase(path=path, memory=remote)
    if frozen == "read_only":
        return Pull(path=path, memory=remote, undone=True)
    return Leave(path=path) if frozen else Push(path=path, over=remote)


def _moved(steps: list[MergeStep], local: Mapping[str, str]) -> Iterator[MergeStep]:
    """Turns a deletion and a creation of the same text into a move."""
    gone = {step.memory.sha256: step for step in steps if isinstance(step, Erase)}
    moved: set[str] = set()
    kept: list[MergeStep] = []
    for step in steps:
        if isinstance(step, Push) and step.over is None and (from_there := gone.pop(local[step.path], None)):
            moved.add(from_there.path)
            kept.append(Move(path=step.path, memory=from_there.memory))
        else:
            kept.append(step)
    yield from (step for step in kept if not (isinstance(step, Erase) and step.path in moved))
