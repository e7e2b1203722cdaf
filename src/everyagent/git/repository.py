"""Finds the git repository around a directory, and reads its settings. Runs nothing."""

import os
from pathlib import Path

from msgspec import Struct

#: Files that git writes are small; anything larger is not one of them.
MOST_BYTES = 1 << 20
_POINTER = "gitdir:"
#: Files and folders of a git folder while a merge, a rebase or the like waits for a person.
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class Repository(Struct, frozen=True, kw_only=True):
    """One checkout of a repository. `own` is its git folder; `common` is that of the repository, often the same."""

    root: Path
    own: Path
    common: Path

    @property
    def objects(self) -> Path:
        return self.common / "objects"

    @property
    def unfinished(self) -> bool:
        """A merge, a rebase or the like waits for a person."""
        return any((self.own / name).exists() for name in _UNFINISHED)

    @property
    def borrows(self) -> bool:
        """It reads the objects of another repository, too."""
        return os.path.lexists(self.objects / "info" / "alternates")


def find(directory: Path) -> Repository | None:
    """The checkout around a directory. None if there is none, or if links lead out of its git folder."""
    for folder in (directory, *directory.parents):
        git = folder / ".git"
        if git.is_symlink():
            return None
        if git.is_dir():
            return _checked(folder, git, git)
        if git.is_file():
            return _linked(folder)
    return None


def linked(own: Path) -> Path | None:
    """The folder of the checkout whose git folder this is, below `worktrees` of a repository. None if it has none."""
    text = read_text(own / "gitdir")
    return Path(text.strip()).parent if text and text.strip().startswith("/") else None


def read_text(path: Path) -> str | None:
    """A small regular file, not through a link. None if it is not one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not os.path.isfile(descriptor):
            return None
        return file.read(MOST_BYTES).decode(errors="surrogateescape")


def _linked(folder: Path) -> Repository | None:
    """A checkout that `git worktree add` made, where both sides must name each other, or that of a submodule."""
    text = read_text(folder / ".git")
    if text is None or not text.startswith(_POINTER):
        return None
    own = Path(os.path.realpath(folder / text.removeprefix(_POINTER).strip()))
    if any(own.is_relative_to(Path(os.path.realpath(above)) / ".git" / "modules") for above in folder.parents):
        return _checked(folder, own, own)
    back = linked(own)
    if own.parent.name != "worktrees" or back is None or os.path.realpath(back) != os.path.realpath(folder):
        return None
    return _checked(folder, own, own.parent.parent)


def _checked(root: Path, own: Path, common: Path) -> Repository | None:
    """None for the git folder of something else, or one whose folders are links to other places."""
    root, own, common = (Path(os.path.realpath(path)) for path in (root, own, common))
    folders = [common / "objects", common / "refs", common / "refs" / "heads"]
    if not all(path.is_dir() and os.path.realpath(path) == str(path) for path in folders):
        return None
    return Repository(root=root, own=own, common=common) if (own / "HEAD").exists() else None
