"""A directory that no path can leave: not by `..`, an absolute path or a symbolic link.

Every step holds an open directory descriptor, so concurrent renames cannot lead outside either. All calls block.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from everyagent.errors import BadRequest, Conflict, EveryagentError, Forbidden, NotFound, StorageFull

_MAX_LINKS = 40
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(NamedTuple):
    """An existing or new entry: its name in an open directory. `.` is the confined directory itself.

    `path` is its real path, to show to the client.
    """

    parent: int
    name: str
    path: str

    def stat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)


class ConfinedDirectory:
    """`made` are the paths of new directories, and of what else the caller adds, for `undo`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made: list[str] = []

    @contextmanager
    def place(self, path: str, *, follow: bool = True, create_parents: bool = False) -> Generator[Place]:
        """Resolve a path to an entry. Unless `follow`, a link at its end is not followed.

        Raises `BadRequest`, `Forbidden`, `NotFound` or `StorageFull`, also for errors of the operating system inside
        the `with`. After an error, the parents that were created for the path are gone.
        """
        with os_errors_explained(path):
            walk = _Walk(self.root)
            try:
                yield walk.to(self._parts(path), follow=follow, create_parents=create_parents)
                self.made += [each.path for each in walk.made]
            except BaseException:
                walk.undo()
                raise
            finally:
                walk.close()

    def mkdir(self, path: str) -> str:
        """Create the directory and its missing parents."""
        with self.place(path, create_parents=True) as place:
            try:
                os.mkdir(place.name, dir_fd=place.parent)
                self.made.append(place.path)
            except FileExistsError:
                if not is_directory(place.stat()):
                    raise
            return place.path

    def undo(self) -> None:
        """Remove what was made, except directories in which there is something else by now."""
        for path in sorted(self.made, key=len, reverse=True):
            with suppress(EveryagentError), self.place(path, follow=False) as place:
                remove = os.rmdir if is_directory(place.stat()) else os.unlink
                remove(place.name, dir_fd=place.parent)
        self.made = []

    def _parts(self, path: str) -> list[str]:
        if "\0" in path:
            raise BadRequest("A path must not contain NUL.", field="path")
        return relative_parts(path, self.root)


class _Walk:
    """The open directories from the root down to the current one. `made` are those that it created."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._held = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self.made: list[Place] = []

    def to(self, parts: list[str], *, follow: bool, create_parents: bool) -> Place:
        ahead = deque(parts)
        links = 0
        while ahead:
            part = ahead.popleft()
            if part == "..":
                self._up()
                continue
            target = _link_target(part, self._held[-1]) if ahead or follow else None
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise BadRequest("The path goes through too many symbolic links.", field="path")
                if target.startswith("/"):
                    self._back_to_root()
                ahead.extendleft(reversed(relative_parts(target, self._root)))
            elif ahead:
                self._down(part, create=create_parents)
            else:
                return Place(self._held[-1], part, str(self._root.joinpath(*self._names, part)))
        return Place(self._held[-1], ".", str(self._root.joinpath(*self._names)))

    def undo(self) -> None:
        for place in reversed(self.made):
            with suppress(OSError):  # somebody else put something into it
                os.rmdir(place.name, dir_fd=place.parent)

    def close(self) -> None:
        for directory in self._held:
            os.close(directory)

    def _down(self, part: str, *, create: bool) -> None:
        if create:
            try:
                os.mkdir(part, dir_fd=self._held[-1])
                self.made.append(Place(self._held[-1], part, str(self._root.joinpath(*self._names, part))))
            except FileExistsError:
                pass
        self._held.append(os.open(part, _DIRECTORY, dir_fd=self._held[-1]))
        self._names.append(part)

    def _up(self) -> None:
        if len(self._held) == 1:
            raise outside()
        left = self._held.pop()
        os.close(left)
        self._names.pop()
        self.made = [each for each in self.made if each.parent != left]

    def _back_to_root(self) -> None:
        while len(self._held) > 1:
            self._up()


def relative_parts(path: str, root: Path) -> list[str]:
    """The parts of a path relative to the root. An absolute path must be below the root."""
    pure = PurePosixPath(path)
    if not pure.is_absolute():
        return list(pure.parts)
    if not pure.is_relative_to(root):
        raise outside()
    return list(pure.relative_to(root).parts)


def outside() -> Forbidden:
    return Forbidden("The path is outside the session's directory.", field="path")


def not_the_root(place: Place) -> Place:
    if place.name == ".":
        raise Forbidden("The session's directory itself cannot be changed or removed.", field="path")
    return place


def is_directory(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode)


def _link_target(name: str, parent: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


@contextmanager
def os_errors_explained(path: str) -> Generator[None]:
    """Turn errors of the operating system into API errors."""
    try:
        yield
    except OSError as error:
        raise _explained(error, path) from error


def _explained(error: OSError, path: str) -> EveryagentError:
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"There is no {path!r} in the session's directory.", path=path)
        case errno.EACCES | errno.EPERM | errno.EROFS | errno.ELOOP:
            return Forbidden(f"The daemon has no permission for {path!r}.", path=path)
        case errno.ENOTDIR:
            return BadRequest(f"A part of {path!r} is not a directory.", path=path)
        case errno.EISDIR:
            return BadRequest(f"{path!r} is a directory.", path=path)
        case errno.EEXIST:
            return Conflict(f"{path!r} exists already.", path=path)
        case errno.ENOTEMPTY:
            return Conflict(f"The directory {path!r} is not empty. Remove it with `recursive=true`.", path=path)
        case errno.ENOSPC | errno.EDQUOT:
            return StorageFull("The disk is full; nothing was written.")
        case _:
            return BadRequest(f"The operation on {path!r} failed: {error.strerror}.", path=path)
