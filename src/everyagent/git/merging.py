"""Merges a worktree's work into a branch, in the objects first: a checkout is changed only if nothing is in the way."""

import os
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from everyagent.errors import BadRequest, FilesChanged, GitFailed, MergeConflict
from everyagent.git.commands import RepositoryGit
from everyagent.git.repository import Repository, find, linked, read_text
from everyagent.git.worktree import Worktree

_HEADS = "refs/heads/"
_MOST_NAMED = 20


class Merge(Struct, frozen=True, kw_only=True):
    """`commit` is what the branch is on now. `files` are those that changed on it, none if it had everything before."""

    branch: str
    commit: str
    files: list[str]


def conflicts(git: RepositoryGit, target: str, work: str) -> tuple[str, list[str]]:
    """The tree of the merge of two commits, and the files that were changed on both sides."""
    done = git.objects("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", target, work, accept=(0, 1))
    tree, *files = done.paths
    return tree, list(dict.fromkeys(files)) if done.code else []


def merge(git: RepositoryGit, worktree: Worktree, work: str, into: str | None, message: str | None) -> Merge:
    """Raises `MergeConflict` or `FilesChanged`, with nothing changed."""
    branch = into or worktree.target
    if branch is None:
        raise BadRequest(
            "The checkout was on no branch when the session was created. Name the branch to merge into.", field="into"
        )
    target = git.commit_of(_HEADS + branch)
    if target is None:
        raise BadRequest(f"There is no branch {branch!r} with a commit in {worktree.root!r}.", field="into")
    if git.contains(target, work):
        return Merge(branch=branch, commit=target, files=[])
    tree, files = conflicts(git, target, work)
    if files:
        raise MergeConflict(
            f"These files were changed on {branch!r}, too: {named(files)}. Nothing was merged. Ask the agent to merge "
            f"{branch!r} into its branch, then merge again.",
            files=files,
        )
    commit = work
    if not git.contains(work, target):
        text = message or f"Merge branch '{worktree.branch}' into {branch}"
        commit = git.objects("commit-tree", "-p", target, "-p", work, tree, stdin=text.encode()).text
    checkout = _checkout_on(worktree, branch)
    if checkout is not None:
        _change(git, checkout, target, commit)
    try:
        git.update_ref("-m", f"everyagent: merge {worktree.branch}", _HEADS + branch, commit, target)
    except GitFailed:
        if checkout is not None:
            _read_tree(git, checkout, commit, target)
        raise
    return Merge(branch=branch, commit=commit, files=git.changed(target, commit))


def _checkout_on(worktree: Worktree, branch: str) -> Repository | None:
    """The checkout that is on the branch.

    An agent may have written the path of one into its git folder, so the folder there must name that git folder, too.
    """
    common, found = worktree.repository.common, [worktree.repository]
    if common.name == ".git":
        found.append(Repository(root=common.parent, own=common, common=common))
    for own in sorted((common / "worktrees").glob("*")):
        root = linked(own)
        checkout = find(root) if root is not None and root.is_dir() else None
        if root is not None and checkout is not None and (checkout.own, checkout.root) == (own, root.resolve()):
            found.append(checkout)
    for checkout in found:
        if (read_text(checkout.own / "HEAD") or "").strip() == f"ref: {_HEADS}{branch}":
            if str(checkout.own) == worktree.own:
                raise BadRequest(f"The session itself works on {branch!r}. Name another branch.", field="into")
            return checkout
    return None


def _change(git: RepositoryGit, checkout: Repository, old: str, new: str) -> None:
    """Brings a checkout from one commit to another, unless files are in the way that a person changed."""
    index = checkout.own / "index"
    if checkout.unfinished:
        raise FilesChanged(
            f"A merge or a rebase is unfinished in {str(checkout.root)!r}. Finish it, then merge again.", files=[]
        )
    if index.is_symlink():
        raise GitFailed(f"The index of {str(checkout.root)!r} is a symbolic link, which the daemon does not follow.")
    wanted = set(git.changed(old, new))
    at = partial(git.objects, index=index, files=checkout.root, foreign=_is_linked(checkout))
    at("update-index", "-q", "--refresh", accept=(0, 1))
    listing = ("-z", "--name-only", "--no-renames", "--ignore-submodules=all")
    changed = {*at("diff-files", *listing).paths}
    changed |= {*at("diff-index", "--cached", *listing, old).paths}
    tracked = {*at("ls-files", "-z").paths}
    changed |= {path for path in wanted - tracked if os.path.lexists(checkout.root / path)}
    if in_the_way := sorted(wanted & changed):
        raise FilesChanged(
            f"These files in {str(checkout.root)!r} have changes that are not committed: {named(in_the_way)}. Nothing "
            "was merged. Commit or stash them, then merge again.",
            files=in_the_way,
        )
    try:
        _read_tree(git, checkout, old, new)
    except GitFailed as error:
        raise FilesChanged(f"{str(checkout.root)!r} could not be changed: {error.detail}", files=[]) from error


def _read_tree(git: RepositoryGit, checkout: Repository, old: str, new: str) -> None:
    words = ("read-tree", "-m", "-u", old, new)
    index, foreign = checkout.own / "index", _is_linked(checkout)
    git.objects(*words, index=index, files=checkout.root, changes=True, foreign=foreign)


def _is_linked(checkout: Repository) -> bool:
    """Whether it may be the worktree of another session."""
    return checkout.own != checkout.common


def named(files: Iterable[str]) -> str:
    """The first files of a list, for people."""
    every = list(files)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more
