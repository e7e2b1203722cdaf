"""Containers of podman, run by a user other than root: the paths of a wall, with the system's files from an image.

`spawn.py` uses it. Inside, `entry/main.py` is the first process: it reads the program and its environment from a
descriptor, so that the program's environment has no effect on podman, and no secret is in a list of processes.
"""

import errno
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from everyagent.logs import get_logger
from everyagent.model.isolation import Containers
from everyagent.runtime import command
from everyagent.runtime.wall import Wall, below, build

logger = get_logger(__name__)

#: The label of all our containers.
LABEL = "everyagent"
#: Podman sets these limits by itself, and fails where it may not raise them that far.
_OPEN_FILES, _PROCESSES = 65_536, 8_192
_LIMIT_SECONDS = 120.0
#: An engine that failed is not tried again sooner.
_AGAIN_SECONDS = 60.0


class _Found(Struct, rename="pascal"):
    """A container in podman's list. Its process has the id `pid`."""

    id: str
    pid: int
    started_at: int

    @property
    def started(self) -> bool:
        return self.started_at > 0


class Podman(Containers, frozen=True):
    """Starts and ends containers."""

    #: The number of the descriptor that the program of `command` gets.
    descriptor: ClassVar[int] = 3

    @classmethod
    def of(cls, containers: Containers) -> "Podman":
        return cls(containers.image, containers.engine)

    def command(self, wall: Wall, entry: Sequence[str], directory: str, mark: str) -> list[str]:
        """The command line that runs `wall.entry` with `descriptor` in a new container. Raises `OSError`."""
        program = [*entry[:-1], str(self.descriptor)]
        around = ["--preserve-fds=1", f"--name={_name(mark)}", f"--workdir={directory}", *_mounts(wall)]
        return [*self._run(), *around, self.image, *program]

    def remove(self, mark: str) -> None:
        """Ends a container with everything in it. Blocks."""
        self._remove(_name(mark))

    def environment(self) -> dict[str, str]:
        """The environment of podman itself."""
        names = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
        return {name: os.environ[name] for name in names if name in os.environ}

    def unavailable_reason(self) -> str | None:
        """The reason why no container can be started, None if one can. Blocks."""
        tried_at, why = _tried.get(self, (0.0, "never tried"))
        if why is None or time.monotonic() < tried_at + _AGAIN_SECONDS:
            return why
        why = self._try()
        _tried[self] = (time.monotonic(), why)
        return why

    def _try(self) -> str | None:
        if os.geteuid() == 0:
            return "containers of root are no wall: run the daemon as another user"
        if shutil.which(self.engine[0]) is None:
            return f"there is no program {self.engine[0]}: install podman"
        wall = build(home=Path.home(), read_only=(), writable=(), hidden=(), podman=self)
        try:
            self._sweep()
            self._command([*self._run(), *_mounts(wall), self.image, sys.executable, "-I", "-S", "-c", ""])
        except (OSError, subprocess.SubprocessError, msgspec.DecodeError) as error:
            return _reason(error)
        return None

    def _sweep(self) -> None:
        """Removes what is left of containers that were killed together with their daemon."""
        found = self._podman("ps", "--all", f"--filter=label={LABEL}", "--format=json")
        for container in msgspec.json.decode(found, type=list[_Found]):
            if container.started and not Path(f"/proc/{container.pid}").exists():
                self._remove(container.id)

    def _remove(self, name: str) -> None:
        try:
            self._podman("rm", "--force", "--ignore", "--time=0", name)
        except (OSError, subprocess.SubprocessError) as error:
            logger.warning("a container could not be removed", container=name, error=_reason(error))

    def _podman(self, *words: str) -> str:
        return self._command([*self.engine, *words])

    def _command(self, argv: Sequence[str]) -> str:
        return command.run(argv, environment=self.environment(), limit=_LIMIT_SECONDS).stdout

    def _run(self) -> list[str]:
        """Without capabilities, as the same user as outside, in the machine's network, to reach the agent's model."""
        return [
            *self.engine,
            "run",
            "--rm",
            "--interactive",
            "--pull=never",
            "--network=host",
            "--userns=keep-id",
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            f"--label={LABEL}",
            *_limits(),
        ]


_tried: dict[Podman, tuple[float, str | None]] = {}


def _name(mark: str) -> str:
    return f"{LABEL}-{mark}"


def _reason(error: Exception) -> str:
    said = str(error.stderr or "") if isinstance(error, subprocess.CalledProcessError) else ""
    return (said.strip().rpartition("\n")[2] or str(error)).rstrip(".")


def _limits() -> list[str]:
    flags: list[str] = []
    for name, number, most in (
        ("nofile", resource.RLIMIT_NOFILE, _OPEN_FILES),
        ("nproc", resource.RLIMIT_NPROC, _PROCESSES),
    ):
        _, hard = resource.getrlimit(number)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        flags.append(f"--ulimit={name}={value}:{value}")
    return flags


def _mounts(wall: Wall) -> list[str]:
    """The steps of a wall as flags. Raises `OSError`."""
    flags: list[str] = []
    for word, value in wall.steps:
        path, _, _ = value.partition("//")
        if word == "link":
            flags += _linked(wall, path)
        elif word in ("ro", "rw"):
            flags += _bound(path, path, writable=word == "rw")
        elif Path(path).is_file():
            flags += _bound("/dev/null", path, writable=False)
        else:
            flags.append(f"--mount=type=tmpfs,destination={_plain(path)},chown=true{',ro' if word == 'hide' else ''}")
    return flags


def _linked(wall: Wall, path: str) -> list[str]:
    """A container gets no symbolic links: what a link leads to is bound in its place."""
    real = os.path.realpath(path)
    shown = [word for word, value in wall.steps if word in ("ro", "rw") and below(real, value)]
    return _bound(real, path, writable=shown[-1] == "rw") if shown and wall.shows(Path(real)) else []


def _bound(source: str, path: str, *, writable: bool) -> list[str]:
    return [f"--mount=type=bind,source={_plain(source)},destination={_plain(path)}{'' if writable else ',ro'}"]


def _plain(path: str) -> str:
    """A path that podman reads as one: it takes a comma for the beginning of another option."""
    if any(character in path for character in ',"\n'):
        raise OSError(
            errno.EINVAL, f"a container cannot have the path {path!r}, because of its comma, quote or line end"
        )
    return path
