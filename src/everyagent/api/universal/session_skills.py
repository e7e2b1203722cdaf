"""Skills that a new session asks for: fetched first, then copied into the session's directory."""

import os
import re
import stat
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
from anyio import to_thread

from everyagent.api.universal.atomic_write import AtomicWrite
from everyagent.api.universal.confined_directory import ConfinedDirectory
from everyagent.api.universal.session_requests import SkillSource
from everyagent.errors import BadRequest, EveryagentError, Forbidden, TooLarge
from everyagent.model.principals import current
from everyagent.model.tools import SKILL_FOLDERS

MAX_BYTES = 64 << 20
MAX_FILES = 5000
_FILE = "SKILL.md"
_GITHUB = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class FetchedSkills:
    """Skills by name, each a folder with a SKILL.md."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders

    async def copy_into(self, directory: str, warnings: list[str]) -> None:
        """Copy each skill, unless one of that name is there. The session exists by now: a failure is a warning."""
        for name, folder in self._folders.items():
            try:
                await to_thread.run_sync(_copy, name, folder, ConfinedDirectory(Path(directory)))
            except EveryagentError as error:
                warnings.append(f"the skill {name} was not copied: {error.detail}")


@asynccontextmanager
async def fetched(sources: list[SkillSource]) -> AsyncGenerator[FetchedSkills]:
    """The skills of all sources, for as long as the context lasts. Raises `BadRequest` if one has none."""
    if not sources:
        yield FetchedSkills({})
        return
    with tempfile.TemporaryDirectory(prefix="everyagent-skills-", ignore_cleanup_errors=True) as scratch:
        found: dict[str, Path] = {}
        for number, source in enumerate(sources):
            folder = await _folder(source, Path(scratch) / str(number))
            found |= await to_thread.run_sync(_chosen, source, folder)
        yield FetchedSkills(found)


async def _folder(source: SkillSource, scratch: Path) -> Path:
    """The folder of a source; a repository is cloned into `scratch`."""
    if source.type == "local":
        if current().limited:
            raise Forbidden("An API key cannot name folders of the machine. Use a git repository.", field="skills")
        root = Path(source.source).expanduser()
        if not root.is_absolute():
            raise BadRequest(f"`source` must be an absolute path; {source.source!r} is not.", field="skills")
    else:
        root = await _cloned(source, scratch)
    below = PurePosixPath(source.subpath or ".")
    if below.is_absolute() or ".." in below.parts:
        raise BadRequest("`subpath` must be a path inside the source, without `..`.", field="skills")
    folder = root / below
    if not folder.resolve().is_relative_to(root.resolve()):
        raise BadRequest("`subpath` leads out of the source.", field="skills")
    return folder


async def _cloned(source: SkillSource, place: Path) -> Path:
    from everyagent.managed.packages.subprocesses import in_thread  # most sessions need no git
    from everyagent.managed.workspace.repositories import clone
    from everyagent.managed.workspace.shape import BranchCheckout, CommitCheckout, RepositoryParams

    url = source.source
    if source.type == "github":
        if not _GITHUB.fullmatch(url):
            raise BadRequest(f"A source on GitHub is `owner/repository`; {url!r} is not.", field="skills")
        url = f"https://github.com/{url}.git"
    ref = source.ref
    checkout = None if not ref else CommitCheckout(sha=ref) if _COMMIT.fullmatch(ref) else BranchCheckout(name=ref)
    try:
        repository = msgspec.convert(
            msgspec.to_builtins(RepositoryParams(url=url, checkout=checkout)), RepositoryParams
        )
    except msgspec.ValidationError:
        raise BadRequest(f"{url!r} is not the http or https URL of a git repository.", field="skills") from None
    problem = await in_thread(partial(clone, repository, None, place.parent, [place.name]))
    if problem is not None:
        raise BadRequest(f"The skills of {url!r} could not be fetched: {problem.message}", field="skills")
    return place


def _chosen(source: SkillSource, folder: Path) -> dict[str, Path]:
    found = dict(_skills(folder, PurePosixPath(source.source).name.removesuffix(".git")))
    chosen = found if source.skills is None else {name: found[name] for name in source.skills if name in found}
    missing = [name for name in source.skills or () if name not in found]
    if missing or not found:
        what = f"has no skill {missing[0]!r}" if missing else f"has no folder with a {_FILE}"
        raise BadRequest(f"{source.source!r} {what}. It has: {', '.join(found) or 'none'}.", field="skills")
    return chosen


def _skills(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The folder itself, the folders in its `skills`, and those in it, as far as they are skills. Links are not."""
    if (folder / _FILE).is_file():
        yield name, folder
    for parent in (folder, folder / "skills"):
        if parent.is_dir() and not parent.is_symlink():
            for child in sorted(parent.iterdir()):
                if not child.is_symlink() and (child / _FILE).is_file():
                    yield child.name, child


def _copy(name: str, folder: Path, directory: ConfinedDirectory) -> None:
    """Copy the regular files of a skill. Links, and the data of git, are left out."""
    targets = [target for target in SKILL_FOLDERS if not os.path.lexists(directory.root / target / name)]
    size = count = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if each != ".git")
        for file in sorted(files):
            path = Path(parent, file)
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            size, count = size + status.st_size, count + 1
            if size > MAX_BYTES or count > MAX_FILES:
                raise TooLarge(f"A skill has at most {MAX_FILES} files and {MAX_BYTES} bytes.", limit=MAX_BYTES)
            for target in targets:
                shown = f"{target}/{name}/{path.relative_to(folder)}"
                with (
                    path.open("rb") as data,
                    directory.place(shown, create_parents=True) as place,
                    AtomicWrite(place, status.st_mode & 0o777) as written,
                ):
                    written.copy(data)
                    written.keep()
