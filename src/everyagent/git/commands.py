"""Runs git so that nothing in a repository can make it run a program or read a file elsewhere.

Commands on objects, indexes and files run in an empty repository of the daemon's own, which borrows the objects: the
settings, hooks, filters and drivers of the repository are never read. Only names of commits are read and written in the
repository itself, with hooks turned off and without any network.

For a session behind a wall, git itself runs behind one wherever it works on files that the agent can change meanwhile:
git looks once whether a folder is a link, and the agent may replace it by one afterwards.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from everyagent.errors import AgentFailed, GitFailed
from everyagent.git.repository import Repository
from everyagent.private_files import private_folder
from everyagent.runtime import command
from everyagent.runtime import wall as walls
from everyagent.runtime.wall import Wall
from everyagent.runtime.wall_probe import unavailable_reason

#: No command takes this long, unless the repository is very large or its disk hangs.
LIMIT_SECONDS = 300.0
_ERROR_BYTES = 4000
#: `merge-tree --write-tree` came with it.
_OLDEST = (2, 38)
#: Settings that come before those of any file.
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.quotePath": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
}
#: Settings of a repository that say how its files are written. They are switches: none of them names a program.
_KEPT = ("core.filemode", "core.symlinks", "core.ignorecase", "core.autocrlf", "core.eol")
_SWITCH = re.compile(r"true|false|input|lf|crlf|native")
#: What is in a git folder beside names and their history.
_NOT_NAMES = ("config", "HEAD", "index", "description", "info", "hooks", "objects", "worktrees", "modules")
ObjectFormat = Literal["sha1", "sha256"]


class Done(Struct, frozen=True):
    code: int
    output: bytes

    @property
    def text(self) -> str:
        return os.fsdecode(self.output).strip()

    @property
    def paths(self) -> list[str]:
        """Names that end with a NUL each."""
        return [os.fsdecode(name) for name in self.output.split(b"\0") if name]


class RepositorySettings(Struct, frozen=True, kw_only=True):
    """The settings of a repository and of the daemon's user that are used.

    `excludes` are files with patterns. An agent may write the settings of a repository, so they name no other file.
    """

    format: ObjectFormat
    kept: dict[str, str]
    identity: dict[str, str]
    excludes: tuple[Path, ...]


class Git:
    """`folder` is a private folder in the daemon's data folder, for its empty repositories and for indexes.

    Every method blocks.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, repository: Repository, *, walled: bool) -> "RepositoryGit":
        """`walled` if the repository or its files are open to an agent behind a wall."""
        return RepositoryGit(self, repository, self.settings_of(repository.common), walled=walled)

    def wall(self, *, read_only: Iterable[Path], writable: Iterable[Path]) -> Wall | None:
        """A wall with these paths and the programs of the system. None if the machine has no walls."""
        if unavailable_reason() is not None:
            return None
        home, data = Path.home(), self._folder.parent
        programs = walls.programs(str(Path(_program()).parent), home, [data])
        system = walls.build(home=home, read_only=programs, writable=(), hidden=())
        return system.opened_to(read_only=read_only, writable=writable, hidden=[data])

    def settings_of(self, common: Path) -> RepositorySettings:
        home = Path.home()
        users = self._of((home / ".config" / "git" / "config", home / ".gitconfig"))
        found = {**users, **self._of((common / "config",))}
        return RepositorySettings(
            format="sha256" if found.get("extensions.objectformat") == "sha256" else "sha1",
            kept={name: found[name].lower() for name in _KEPT if _SWITCH.fullmatch(found.get(name, "").lower())},
            identity=_identity(found.get("user.name"), found.get("user.email")),
            excludes=(
                Path(users.get("core.excludesfile") or home / ".config" / "git" / "ignore").expanduser(),
                common / "info" / "exclude",
            ),
        )

    def empty(self, format: ObjectFormat) -> Path:
        """A repository without settings, hooks and objects."""
        place = self._folder / format
        if not (place / "HEAD").is_file():
            private_folder(self._folder)
            self.run(["init", "--quiet", "--bare", "--template=", f"--object-format={format}", str(place)], {})
        return place

    @contextmanager
    def workspace(self) -> Generator[Path]:
        """A private folder for indexes and lists of files, removed at the end."""
        private_folder(self._folder)
        with tempfile.TemporaryDirectory(prefix="work-", dir=self._folder) as folder:
            yield Path(folder)

    def require_merges(self) -> None:
        """Raises `GitFailed` if the machine's git is missing, or too old to merge without a checkout."""
        text = self.run(["version"], {}).text
        found = re.search(r"(\d+)\.(\d+)", text)
        if found is None or (int(found[1]), int(found[2])) < _OLDEST:
            raise GitFailed(f"Worktrees need git 2.38 or newer; the daemon's machine has {text}.")

    def run(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        settings: Mapping[str, str] = MappingProxyType({}),
        *,
        stdin: bytes = b"",
        accept: Sequence[int] = (0,),
        limit: float = LIMIT_SECONDS,
        wall: Wall | None = None,
    ) -> Done:
        git = _program()
        environment = {**_environment({**settings, **_SETTINGS}), **variables}
        begun = time.monotonic()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            given.write(stdin)
            given.seek(0)
            try:
                child = command.start(
                    [git, *words],
                    environment=environment,
                    directory=Path("/"),
                    stdin=given,
                    stdout=output,
                    stderr=errors,
                    wall=wall,
                )
                code = command.finish(child, limit)
            except (OSError, AgentFailed) as error:
                raise GitFailed(f"git could not be run: {error}") from error
            if code not in accept:
                if time.monotonic() - begun >= limit:
                    raise GitFailed(f"git {words[0]} took more than {limit:.0f} seconds, and was stopped.")
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - _ERROR_BYTES))
                message = errors.read().decode(errors="replace").strip()
                raise GitFailed(f"git {words[0]} failed: {message or f'it ended with exit code {code}'}")
            output.seek(0)
            return Done(code, output.read())

    def _of(self, files: Iterable[Path]) -> dict[str, str]:
        return {name: value for file in files if file.is_file() for name, value in self._listed(file).items()}

    def _listed(self, file: Path) -> dict[str, str]:
        """The values of a file with settings; the last one counts. Files that it includes are not read."""
        words = ["config", "--file", str(file), "--no-includes", "--null", "--list"]
        pairs = (os.fsdecode(each).partition("\n") for each in self.run(words, {}, accept=(0, 128)).output.split(b"\0"))
        return {name: value for name, _, value in pairs if name}


class RepositoryGit:
    """Git on one repository. Every method blocks, and raises `GitFailed`.

    `inside` is the folder below the `files` of its commands that they are about.
    """

    def __init__(
        self,
        git: Git,
        repository: Repository,
        settings: RepositorySettings,
        *,
        walled: bool,
        limit: float = LIMIT_SECONDS,
        inside: Path = Path(),
    ) -> None:
        self.git = git
        self.repository = repository
        self.settings = settings
        self._walled = walled
        self._limit = limit
        self._inside = inside

    def names(self, *words: str, accept: Sequence[int] = (0,)) -> Done:
        """A command on names of commits in the repository, which touches no files of a checkout."""
        return self.git.run(words, self._on_names(), accept=accept, limit=self._limit)

    def update_ref(self, *words: str) -> None:
        """Changes a name. Its file and its history may be the agent's, and so may be links in the place of them."""
        common = self.repository.common
        wall = None
        if self._walled:
            fixed = (common / name for name in _NOT_NAMES)
            wall = self.git.wall(
                read_only=[path for path in fixed if os.path.exists(path) and not os.path.islink(path)],
                writable=[common],
            )
        self.git.run(("update-ref", *words), self._on_names(), limit=self._limit, wall=wall)

    def _on_names(self) -> dict[str, str]:
        return {"GIT_DIR": str(self.repository.common), **self.settings.identity}

    def commit_of(self, name: str) -> str | None:
        """The commit of a branch or another name, None if there is none."""
        return self.names("rev-parse", "--verify", "--quiet", "--end-of-options", name, accept=(0, 1, 128)).text or None

    def objects(
        self,
        *words: str,
        index: Path | None = None,
        files: Path | None = None,
        stdin: bytes = b"",
        excludes: Path | None = None,
        accept: Sequence[int] = (0,),
        changes: bool = False,
        foreign: bool = False,
    ) -> Done:
        """A command on objects of the repository, on an `index`, and on the `files` of a folder, which it may change.

        The files are `foreign` if another session may work on them, whatever this one does.
        """
        empty = self.git.empty(self.settings.format)
        wall = None
        if files is not None and (self._walled or foreign):
            own = [self.repository.objects, *([] if index is None else [index.parent])]
            shown = [files / self._inside]
            wall = self.git.wall(
                read_only=[empty, *_ignore_files(files, self._inside), *([] if changes else shown)],
                writable=[*own, *(shown if changes else [])],
            )
        variables = {
            "GIT_DIR": str(empty),
            "GIT_OBJECT_DIRECTORY": str(self.repository.objects),
            **self.settings.identity,
            **({} if files is None else {"GIT_WORK_TREE": str(files)}),
            **({} if index is None else {"GIT_INDEX_FILE": str(index)}),
        }
        given = {**self.settings.kept, **({"core.excludesFile": str(excludes)} if excludes else {})}
        return self.git.run(words, variables, given, stdin=stdin, accept=accept, limit=self._limit, wall=wall)

    def tree_of(self, commit: str) -> str:
        return self.objects("rev-parse", "--verify", f"{commit}^{{tree}}").text

    def contains(self, newer: str, older: str) -> bool:
        """Whether a commit is another one, or came after it."""
        return self.objects("merge-base", "--is-ancestor", older, newer, accept=(0, 1)).code == 0

    def changed(self, old: str, new: str) -> list[str]:
        """The paths that differ between two commits or trees."""
        return self.objects("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new).paths


def _program() -> str:
    git = shutil.which("git")
    if git is None:
        raise GitFailed("There is no git on the daemon's machine. Install it, and try again.")
    return git


def _ignore_files(root: Path, inside: Path) -> list[Path]:
    """The files with patterns in the folders above the one `inside`."""
    folders = [root / above for above in inside.parents] if inside != Path() else []
    files = (folder / ".gitignore" for folder in folders)
    return [path for path in files if path.is_file() and not path.is_symlink()]


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ} | {
        "LC_ALL": "C.UTF-8",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _identity(name: str | None, email: str | None) -> dict[str, str]:
    """The author of commits, as variables."""
    values = {"NAME": _plain(name) or "everyagent", "EMAIL": _plain(email) or "everyagent@localhost"}
    return {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in values.items()}


def _plain(value: str | None) -> str:
    """Without what git refuses in a name."""
    return re.sub(r"[<>\x00-\x1f]", "", value or "").strip()
