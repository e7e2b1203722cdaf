"""Snapshots of a folder's files as trees of a repository, without the index and the settings of that folder."""

import os
from collections.abc import Iterable
from pathlib import Path

from everyagent.git.commands import RepositoryGit
from everyagent.git.repository import read_text

_GITLINK = b"160000 "


def snapshot(git: RepositoryGit, folder: Path, base: str, workspace: Path) -> str:
    """The tree of all files of a folder that are not ignored. `base` is the commit that it began with.

    Repositories inside the folder are left out; submodules stay as they are in `base`.
    """
    index = workspace / "index"
    git.objects("read-tree", base, index=index)
    return written(git, folder, index, listed(git, folder, index, excludes(git, workspace)))


def listed(git: RepositoryGit, folder: Path, index: Path, excludes: Path, inside: Path = Path()) -> list[bytes]:
    """The files of a folder, or of one `inside` it, and those that an index has."""
    staged = git.objects("ls-files", "-z", "--stage", index=index).output.split(b"\0")
    links = {entry.partition(b"\t")[2] for entry in staged if entry.startswith(_GITLINK)}
    within = ":(top)" if inside == Path() else f":(top,literal){inside}"
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", within)
    found = git.objects(*words, index=index, files=folder, excludes=excludes).output.split(b"\0")
    return [path for path in dict.fromkeys(found) if path and not path.endswith(b"/") and path not in links]


def written(git: RepositoryGit, folder: Path, index: Path, paths: Iterable[bytes]) -> str:
    """Brings an index up to date with files of a folder, and writes its tree."""
    links, here, beyond = dict[bytes, bool](), list[bytes](), list[bytes]()
    for path in paths:
        (beyond if _behind_link(os.fsencode(folder), os.path.dirname(path), links) else here).append(path)
    if beyond:  # a folder was replaced by a link, and git refuses to look through it
        git.objects(
            "update-index", "-z", "--force-remove", "--stdin", index=index, files=folder, stdin=_listing(beyond)
        )
    update = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
    git.objects(*update, index=index, files=folder, stdin=_listing(here))
    return git.objects("write-tree", index=index).text


def _behind_link(root: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    """Whether a folder below the root is a link, or one above it is."""
    if not folder:
        return False
    if folder not in known:
        known[folder] = _behind_link(root, os.path.dirname(folder), known) or os.path.islink(root + b"/" + folder)
    return known[folder]


def _listing(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def excludes(git: RepositoryGit, workspace: Path) -> Path:
    """One file with the patterns of the user and of the repository beside those of `.gitignore`."""
    texts = [read_text(file) for file in git.settings.excludes]
    place = workspace / "excludes"
    place.write_text("\n".join(text for text in texts if text), errors="surrogateescape")
    return place
