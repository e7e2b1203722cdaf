"""Worktrees of sessions in the API."""

from msgspec import Struct


class WorktreeInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """`repository` is the folder of the checkout that the worktree was made from, and `path` the worktree's own.

    It began at the commit `base`. `target` is the branch that it is merged into, null if the checkout was on none.
    """

    path: str
    repository: str
    branch: str
    base: str
    target: str | None


class WorktreeState(WorktreeInfo, frozen=True, kw_only=True, rename="camel"):
    """`exists` is false after it was dropped. `files` have changes that are not in the branch `target`.

    `conflicts` are those that were changed on both sides: it cannot be merged until the agent has solved them.
    `uncommitted` says that some files are in no commit; they are merged as well.
    """

    exists: bool
    files: list[str] = []
    conflicts: list[str] = []
    uncommitted: bool = False


class MergeWorktree(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """`into` is a branch, by default the worktree's `target`. `message` is that of the merge commit, if one is made."""

    into: str | None = None
    message: str | None = None


class MergedWorktree(Struct, frozen=True, kw_only=True, rename="camel"):
    """The branch is on `commit` now. `files` were changed on it; none if it had all work before."""

    branch: str
    commit: str
    files: list[str]
