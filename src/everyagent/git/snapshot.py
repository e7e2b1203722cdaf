"""Snapshots of a folder's files as trees of a repository, without the index and the settings of that folder."""

import os
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
    return updated(git, folder, index, workspace)


def updated(git: RepositoryGit, folder: Path, index: Path, workspace: Path) -> str:
    """Brings an index up to date with the files, and writes its tree."""
    excludes = _excludes(git, workspace)
    staged = git.objects("ls-files", "-z", "--stage", index=index).output.split(b"\0")
    links = {entry.partition(b"\t")[2] for entry in staged if entry.startswith(_GITLINK)}
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = git.objects(*listing, index=index, files=folder, excludes=excludes).output.split(b"\0")
    paths = [path for path in dict.fromkeys(found) if path and not path.endswith(b"/") and path not in links]
    update = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
    git.objects(*update, index=index, files=folder, stdin=b"".join(path + b"\0" for path in paths))
    return git.objects("write-tree", index=index).text


def _excludes(git: RepositoryGit, workspace: Path) -> Path:
    """One file with the patterns of the user and of the repository beside those of `.gitignore`."""
    home = Path.home()
    named = git.settings.excludes
    own = Path(os.path.expanduser(named)) if named else home / ".config" / "git" / "ignore"
    texts = [read_text(own), read_text(git.repository.common / "info" / "exclude")]
    place = workspace / "excludes"
    place.write_text("\n".join(text for text in texts if text), errors="surrogateescape")
    return place
