"""The file system behind a wall: which paths a walled program sees, and the command line that enters the wall.

Used by `spawn.py`. `entry/` is the program that builds the wall.
"""

import errno
import os
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

import everyagent

if TYPE_CHECKING:
    from everyagent.runtime.container import Podman

#: Without site packages, to start fast.
_BOOT = "import sys; sys.path.append(sys.argv.pop(1)); from everyagent.runtime.entry.main import main; main()"
#: Bound read-only if they exist. Anything else of the machine is not there.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix")
#: Empty and writable, gone with the process.
_EMPTY = ("/tmp", "/var/tmp", "/run")
#: The word that wins if a path is named twice.
_PRECEDENCE = {"tmp": 0, "ro": 1, "rw": 2, "hide": 3}
#: Folders of programs whose parent holds what the programs need.
_PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims"})
#: Parents of program folders that also hold credentials.
_KEPT_OUT = frozenset({".local", ".cargo"})
#: Links that one path may lead through.
_LINKS = 40
#: How long the list of private files in /etc is used.
_SCAN_SECONDS = 60.0
#: The most that is covered in /etc; beyond it, the folder itself is not shown.
_COVERED = 500


class Wall(Struct, frozen=True):
    """The steps that build the file system, as pairs of a word and a value. Equal walls show the same paths.

    With `podman`, it is that of a container.
    """

    steps: tuple[tuple[str, str], ...]
    podman: "Podman | None" = None

    @property
    def memory_folders(self) -> tuple[str, ...]:
        """The writable folders that are kept in memory."""
        return (*(value for word, value in self.steps if word == "tmp"), "/dev/shm")

    def opened_to(self, *, read_only: Iterable[Path], writable: Iterable[Path], hidden: Iterable[Path]) -> "Wall":
        """This wall with more paths. It cannot be entered if one of them leads through a symbolic link by then.

        Each must exist; of `hidden` those are covered that would be shown. A later path wins over an equal one.
        """
        steps = [*self.steps, *(("ro", str(path)) for path in read_only), *(("rw", str(path)) for path in writable)]
        covered = [("hide", str(path)) for path in hidden if _shown(str(path), sorted(steps, key=_depth_of))]
        return Wall(tuple(sorted([*steps, *covered], key=_depth_of)), self.podman)

    def shows(self, path: Path) -> bool:
        """Whether an existing path is there behind the wall."""
        real = os.path.realpath(path)
        shown = False
        for word, value in self.steps:
            if word != "link" and below(real, value):
                shown = word in ("ro", "rw")
        return shown


def build(
    *,
    home: Path,
    read_only: Iterable[Path],
    writable: Iterable[Path],
    hidden: Iterable[Path],
    podman: "Podman | None" = None,
) -> Wall:
    """The wall of a program. A deeper path wins over a shallower one, but nothing below a writable path is read-only.

    Paths that do not exist are left out. `hidden` paths are covered if a shown path contains them; only the programs
    among `read_only` may be below one. With `podman`, the
    system's files are those of an image. Blocking.
    """
    words: dict[str, str] = {}
    links: dict[str, str] = {}

    def add(word: str, path: str) -> None:
        real = _resolved(path, links)
        if real is not None and _PRECEDENCE[words.get(real, "tmp")] <= _PRECEDENCE[word]:
            words[real] = word

    wanted = [str(path) for path in writable]
    for path in (*_EMPTY, str(home)):
        if not any(path != each and below(path, os.path.realpath(each)) for each in wanted if each != "/"):
            words[os.path.realpath(path)] = "tmp"
    system = () if podman else SYSTEM
    for path in (*system, *(each for each in _interpreter() if each not in SYSTEM)):
        add("ro", path)
    changeable = [os.path.realpath(path) for path in wanted]
    covered = [os.path.realpath(path) for path in hidden]
    for path in map(str, read_only):
        real = os.path.realpath(path)
        if not any(below(real, each) for each in changeable) or any(below(real, each) for each in covered):
            add("ro", path)
    resolver = os.path.realpath("/etc/resolv.conf")
    if not resolver.startswith("/etc/") and not podman:
        add("ro", os.path.dirname(resolver))
    for path in wanted:
        add("rw", path)
    for path in (*(str(each) for each in hidden), *_private()):
        add("hide", path)
    return Wall(_ordered(words, links), podman)


def programs(path_variable: str, home: Path, hidden: Sequence[Path]) -> list[Path]:
    """The folders of a PATH with what their programs need beside them, as far as that exposes nothing else."""
    shown: list[Path] = []
    guarded = [str(home), *map(str, hidden)]
    for entry in path_variable.split(":"):
        if not entry.startswith("/") or any(below(each, entry) for each in guarded):
            continue
        folder, parent = Path(entry), Path(entry).parent
        alone = folder.name not in _PROGRAM_FOLDERS or parent.name in _KEPT_OUT
        if alone or parent == Path("/") or any(below(each, str(parent)) for each in guarded):
            shown.append(folder)
        else:
            shown.append(parent)
    return shown


@contextmanager
def entry(
    words: Iterable[tuple[str, str]], program: Sequence[str], environment: Mapping[str, str]
) -> Generator[tuple[list[str], int]]:
    """The command line that runs a program with the `words` of `entry/main.py`, and a descriptor to pass to it.

    Everything is read from the descriptor, so that a list of processes shows the program once, and so that the
    program's environment has no effect on the process that builds the wall (`LD_PRELOAD` would). Raises `OSError`.
    """
    variables = [("variable", f"{name}={value}") for name, value in environment.items()]
    parts = [*(word for pair in (*words, *variables) for word in pair), "--", *program]
    if any("\0" in part for part in parts):
        raise OSError(errno.EINVAL, "an argument or a variable of it contains a NUL character")
    text = b"\0".join(map(os.fsencode, parts))
    with open(os.memfd_create("everyagent"), "r+b", buffering=0) as file:
        file.write(text)
        file.seek(0)
        root = str(Path(everyagent.__file__).parents[1])
        yield [sys.executable, "-I", "-S", "-c", _BOOT, root, str(file.fileno())], file.fileno()


def _ordered(words: dict[str, str], links: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Shallow paths first, without those that their parent shows in the same way."""
    steps: list[tuple[str, str]] = []
    for path in sorted(words, key=lambda each: (_depth(each), each)):
        around = [word for word, above in steps if below(path, above)]
        word = words[path]
        if word in ("ro", "rw") and around and around[-1] == word:
            continue
        if word == "hide" and not (around and around[-1] in ("ro", "rw")):
            continue
        steps.append((word, path))
    steps += [("link", f"{path}//{target}") for path, target in links.items() if not _shown(path, steps)]
    return tuple(sorted(steps, key=_depth_of))


def _shown(path: str, steps: Sequence[tuple[str, str]]) -> bool:
    """Whether the folder of a path is bound from the machine, with the path in it."""
    around = [word for word, above in steps if path != above and below(path, above)]
    return bool(around) and around[-1] in ("ro", "rw", "hide")


def _depth_of(step: tuple[str, str]) -> int:
    return _depth(step[1].split("//")[0] or "/")


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def is_led_by(path: str, folders: Iterable[str]) -> bool:
    """Whether a symbolic link in one of the folders is on the way of a path, so that whoever made it chose its end."""
    links: dict[str, str] = {}
    _resolved(path, links)
    return any(below(link, os.path.realpath(folder)) for link in links for folder in folders)


def below(path: str, above: str) -> bool:
    """Whether a path is another one or lies below it."""
    return path == above or above == "/" or path.startswith(f"{above}/")


def _resolved(path: str, links: dict[str, str]) -> str | None:
    """The real path, None if there is none. Symbolic links on the way are noted in `links`."""
    real, rest = "", [part for part in os.path.normpath(path).split("/") if part]
    for _ in range(_LINKS * 10):
        if not rest:
            return real or "/"
        here = f"{real}/{rest.pop(0)}"
        try:
            target = os.readlink(here)
        except OSError:
            if not os.path.lexists(here):
                return None
            real = here
            continue
        links[here] = target
        whole = target if target.startswith("/") else f"{real}/{target}"
        real, rest = "", [part for part in os.path.normpath(whole).split("/") if part] + rest
    return None


def _interpreter() -> Iterable[str]:
    """This package and its Python, which runs the wall's own programs and the permission hooks."""
    return (sys.prefix, sys.base_prefix, sys.executable, str(Path(everyagent.__file__).parent))


_scanned: tuple[float, list[str]] = (-_SCAN_SECONDS, [])


def _private() -> list[str]:
    """Files of /etc that only root can read: an agent of root's has the same user id."""
    global _scanned
    if os.geteuid() != 0:
        return []
    if time.monotonic() - _scanned[0] > _SCAN_SECONDS:
        found = list(_unreadable("/etc"))
        _scanned = (time.monotonic(), found if len(found) < _COVERED else ["/etc"])
    return _scanned[1]


def _unreadable(folder: str) -> Iterable[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if entry.is_dir(follow_symlinks=False):
                if mode & 0o5 == 0o5:
                    yield from _unreadable(entry.path)
                else:
                    yield entry.path
            elif not mode & 0o4:
                yield entry.path
