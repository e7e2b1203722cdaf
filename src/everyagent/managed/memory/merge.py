"""What a session's folder and its memory store have to do to be the same again. Pure.

Nothing is lost by it: what both changed is written over in the store, where the other text stays as a version; what one
changed and the other deleted stays.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.managed.memory.changes import StoredMemory
from everyagent.managed.memory.paths import folders_of


class Same(Struct, frozen=True, kw_only=True):
    """Both have it."""

    path: str


class Push(Struct, frozen=True, kw_only=True):
    """The folder's goes into the store; `over` is what it takes the place of."""

    path: str
    over: StoredMemory | None


class Move(Struct, frozen=True, kw_only=True):
    """The folder has it elsewhere now."""

    path: str
    memory: StoredMemory


class Erase(Struct, frozen=True, kw_only=True):
    """The folder has it no more, so the store neither."""

    path: str
    memory: StoredMemory


class Pull(Struct, frozen=True, kw_only=True):
    """The store's goes into the folder; `undone`: in place of what the agent had no right to write."""

    path: str
    memory: StoredMemory
    undone: bool = False


class Drop(Struct, frozen=True, kw_only=True):
    """The store has it no more, so the folder neither."""

    path: str


class Leave(Struct, frozen=True, kw_only=True):
    """The agent's, where nothing is kept any more: it stays in the folder, and nowhere else."""

    path: str


#: Why nothing may be written to a store: the session never could, or nobody can any more.
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
    """`base` is what both had when they were last the same; digests by path, as in `local`.

    `frozen`: nothing goes into the store. `blind` are paths at and below which nobody could look.
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
    """All gone at once: the folder was, not its memories."""
    return len(base) > 1 and not local


def hidden(path: str, blind: Set[str]) -> bool:
    """At or below one of these; the empty one is the root."""
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
    """What is gone at one place and new at another is the same memory."""
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
