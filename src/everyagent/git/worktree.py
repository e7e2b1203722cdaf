"""Makes, saves and removes worktrees in which sessions work on a repository without touching anybody else's files.

A worktree has its own branch, `everyagent/NAME/work`. Its agent may make more of them below `everyagent/NAME/`.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Collection
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.errors import BadRequest, GitFailed
from everyagent.git.commands import Git, RepositoryGit
from everyagent.git.repository import Repository, find, linked, read_text
from everyagent.git.snapshot import snapshot
from everyagent.held_folders import held
from everyagent.held_folders import remove as remove_entry
from everyagent.model.worktrees import WorktreeInfo
from everyagent.private_files import private_folder

_HEADS = "refs/heads/"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: Git removes empty folders of branches when it packs them. It ignores this file, and keeps its folder.
_ANCHOR = "keep.lock"


class Worktree(Struct, frozen=True, kw_only=True):
    """`folder` is its root, `root` that of the checkout it was made from, whose git folder is `checkout`.

    `own` is its git folder, `common` that of the repository. It began at the commit `base`, and is merged into the
    branch `target`: the one that the checkout was on, None if it was on none.
    """

    session_id: str
    folder: str
    root: str
    checkout: str
    own: str
    common: str
    name: str
    base: str
    target: str | None

    @property
    def prefix(self) -> str:
        """All branches of the worktree are below it."""
        return f"{_HEADS}everyagent/{self.name}/"

    @property
    def branch(self) -> str:
        return f"everyagent/{self.name}/work"

    @property
    def repository(self) -> Repository:
        return Repository(root=Path(self.root), own=Path(self.checkout), common=Path(self.common))

    @property
    def info(self) -> WorktreeInfo:
        return WorktreeInfo(
            path=self.folder, repository=self.root, branch=self.branch, base=self.base, target=self.target
        )

    @property
    def exists(self) -> bool:
        return os.path.isdir(self.folder) and not os.path.islink(self.folder)


def name_of(session_id: str) -> str:
    """The name of a session's worktree: its id, as far as git allows that in the name of a branch."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", session_id).strip("-")[:80]
    digest = hashlib.sha256(session_id.encode()).hexdigest()[:8]
    return name if name == session_id else f"{name}-{digest}".lstrip("-")


def make(
    git: Git, place: Path, session_id: str, repository: Repository, origin: Worktree | None, *, walled: bool
) -> Worktree:
    """A new worktree below `place`.

    It begins at the last commit of the checkout. That of a fork, at what the worktree of its `origin` is now.
    """
    git.require_merges()
    opened = git.open(repository, walled=walled)
    base = head_of(opened, repository.own)
    if base is None:
        raise BadRequest(
            f"The repository {str(repository.root)!r} has no commit yet, so there is nothing to make a worktree of. "
            "Commit something first.",
            field="worktree",
        )
    name = _free(opened, place, name_of(session_id))
    folder = place / name / repository.root.name
    private_folder(folder.parent)
    worktree = Worktree(
        session_id=session_id,
        folder=str(folder),
        root=origin.root if origin else str(repository.root),
        checkout=origin.checkout if origin else str(repository.own),
        own="",
        common=str(repository.common),
        name=name,
        base=origin.base if origin else base,
        target=origin.target if origin else branch_of(opened, repository.own),
    )
    note_of(folder.parent).write_bytes(msgspec.json.encode(worktree))
    try:
        opened.names("worktree", "add", "--quiet", "--no-checkout", "-b", worktree.branch, str(folder), base)
        made = find(folder)
        if made is None or made.common != repository.common:
            raise GitFailed(f"git made no usable worktree in {str(folder)!r}.")
        worktree = replace(worktree, own=str(made.own))
        for branches in branch_folders(worktree):
            branches.mkdir(parents=True, exist_ok=True)
            (branches / _ANCHOR).touch()
        index = made.own / "index"
        opened.objects("read-tree", "--reset", "-u", base, index=index, files=folder, changes=True)
        if origin is not None:
            with git.workspace() as workspace:
                tree = snapshot(opened, repository.root, base, workspace)
            opened.objects("read-tree", "-m", "-u", base, tree, index=index, files=folder, changes=True)
            opened.objects("read-tree", "-m", base, index=index, files=folder)
    except BaseException:
        remove(opened, worktree, keep=())
        raise
    return worktree


def note_of(folder: Path) -> Path:
    """The file beside a worktree that says what it is, in case its session is not stored."""
    return folder / "worktree.json"


def branch_folders(worktree: Worktree) -> tuple[Path, Path]:
    """The folders of the worktree's branches and of their history."""
    common = Path(worktree.common)
    return common / worktree.prefix, common / "logs" / worktree.prefix


def head_of(git: RepositoryGit, own: Path) -> str | None:
    """The commit of a checkout, by its git folder, which is not trusted."""
    text = (read_text(own / "HEAD") or "").strip()
    name = text.removeprefix("ref: ")
    if name == text:
        return text if _COMMIT.fullmatch(text) else None
    return git.commit_of(name) if name.startswith(_HEADS) else None


def branch_of(git: RepositoryGit, own: Path) -> str | None:
    """The branch that a checkout is on, if it has a commit."""
    text = (read_text(own / "HEAD") or "").strip()
    name = text.removeprefix(f"ref: {_HEADS}")
    return name if name != text and git.commit_of(f"{_HEADS}{name}") else None


def branches_of(git: RepositoryGit, worktree: Worktree) -> dict[str, str]:
    """The branches of a worktree with their commits."""
    listing = git.names("for-each-ref", "--format=%(objectname) %(refname)", worktree.prefix).text
    pairs = (line.partition(" ") for line in listing.splitlines())
    return {name.removeprefix(_HEADS): commit for commit, _, name in pairs}


def work_of(git: RepositoryGit, worktree: Worktree, message: str) -> tuple[str, str]:
    """The commit that a worktree is on, and one with all files that are not committed; the same if there are none."""
    head = head_of(git, Path(worktree.own)) or worktree.base
    with git.git.workspace() as workspace:
        tree = snapshot(git, Path(worktree.folder), head, workspace)
    if tree == git.tree_of(head):
        return head, head
    return head, git.objects("commit-tree", "-p", head, tree, stdin=message.encode()).text


def save(git: RepositoryGit, worktree: Worktree, head: str, commit: str) -> None:
    """Puts a commit of all files on the branch that the worktree is on."""
    own = Path(worktree.own)
    text = (read_text(own / "HEAD") or "").strip()
    name = text.removeprefix("ref: ")
    if name.startswith(worktree.prefix) and git.names("symbolic-ref", "--quiet", name, accept=(0, 1)).code:
        git.update_ref("--no-deref", "-m", "everyagent: save files", name, commit, head)
    elif text == head:
        _replace(own / "HEAD", f"{commit}\n".encode())
    else:  # a branch that is not the session's is left as it is
        git.update_ref("--no-deref", f"{worktree.prefix}saved-{commit[:12]}", commit)
        return
    with git.git.workspace() as workspace:
        index = workspace / "index"
        git.objects("read-tree", commit, index=index)
        git.objects("update-index", "-q", "--refresh", index=index, files=Path(worktree.folder), accept=(0, 1))
        _replace(own / "index", index.read_bytes())


def lost(git: RepositoryGit, worktree: Worktree, commit: str) -> list[str]:
    """The files whose changes would be lost without a commit, because the branch it is for does not have them."""
    target = (worktree.target and git.commit_of(f"{_HEADS}{worktree.target}")) or worktree.base
    if git.contains(target, commit):
        return []
    merged = git.objects("merge-tree", "--write-tree", "-z", "--no-messages", target, commit, accept=(0, 1, 128))
    if not merged.code and merged.paths[0] == git.tree_of(target):
        return []
    fork_point = git.objects("merge-base", target, commit, accept=(0, 1)).text
    return git.changed(fork_point or target, commit)


def unmerged(git: RepositoryGit, worktree: Worktree) -> dict[str, list[str]]:
    """The branches of a worktree with work that would be lost without them, and the files that it changes."""
    found = {name: lost(git, worktree, commit) for name, commit in branches_of(git, worktree).items()}
    return {name: files for name, files in found.items() if files}


def release(git: RepositoryGit, worktree: Worktree) -> list[str]:
    """Removes a worktree. Work that is not merged is committed, and stays on branches, whose names are returned."""
    if worktree.exists:
        head, work = work_of(git, worktree, "Files of a deleted session")
        if work != head and lost(git, worktree, work):
            save(git, worktree, head, work)
            head = work
        on_branches = branches_of(git, worktree).values()
        if lost(git, worktree, head) and not any(git.contains(each, head) for each in on_branches):
            git.update_ref(f"{worktree.prefix}saved-{head[:12]}", head)
    kept = list(unmerged(git, worktree))
    remove(git, worktree, keep=kept)
    return kept


def remove(git: RepositoryGit, worktree: Worktree, keep: Collection[str]) -> None:
    """Removes the folder, its git folder and its branches, except those to `keep`."""
    own = located(worktree).own
    _remove_folder(Path(worktree.folder).parent)
    if own:
        _remove_folder(Path(own))
    if not git.repository.common.is_dir():
        return
    for name in branches_of(git, worktree):
        if name not in keep:
            git.update_ref("--no-deref", "-d", _HEADS + name)
    with suppress(OSError):  # not empty
        (Path(worktree.common) / "worktrees").rmdir()
    for branches in branch_folders(worktree):
        (branches / _ANCHOR).unlink(missing_ok=True)
        with suppress(OSError):
            branches.rmdir()
            branches.parent.rmdir()


def located(worktree: Worktree) -> Worktree:
    """With its git folder, if there is one that still names its folder."""
    wanted = os.path.realpath(worktree.folder)
    for own in (Path(worktree.common) / "worktrees").glob("*"):
        back = linked(own)
        if back is not None and os.path.realpath(back) == wanted:
            return replace(worktree, own=str(own))
    return replace(worktree, own="")


def _free(git: RepositoryGit, place: Path, name: str) -> str:
    """A name that no folder and no branch has: those of a deleted session are kept if they were not merged."""
    taken = git.names("for-each-ref", "--format=%(refname)", "refs/heads/everyagent/").text.splitlines()
    for number in count(1):
        free = name if number == 1 else f"{name}-{number}"
        prefix = f"refs/heads/everyagent/{free}"
        if not (place / free).exists() and not any(each == prefix or each.startswith(f"{prefix}/") for each in taken):
            return free
    raise AssertionError


def _replace(path: Path, content: bytes) -> None:
    """Never through a link: the agent may have made one there."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(content)
    draft.rename(path)


def _remove_folder(folder: Path) -> None:
    if os.path.lexists(folder):
        with held(folder.parent, ()) as parent:
            remove_entry(parent, folder.name)
