"""Keeps OpenCode from installing packages unasked: it does so in every configuration folder that it reads.

Nothing is written for it: the server is told of a registry that is none. Used by `adapter.py` for each session.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from everyagent.agents.opencode import program

#: It names the registry of OpenCode's own packages alone; others that the user has configured are fetched.
VARIABLE = "npm_config_@opencode-ai:registry"
#: Not an address, so that OpenCode gives up at once. It logs that and goes on.
NOWHERE = "http://[everyagent fetches nothing unasked]"
#: Whoever has one of these in a configuration folder wants what OpenCode would install there for it.
_EXTENSIONS = ("plugin", "plugins", "tool", "tools")
_PACKAGE = "@opencode-ai/plugin"
T = TypeVar("T")


class _Dependencies(Struct, frozen=True):
    dependencies: dict[str, object] = {}
    devDependencies: dict[str, object] = {}
    peerDependencies: dict[str, object] = {}
    optionalDependencies: dict[str, object] = {}

    def names(self) -> set[str]:
        return {*self.dependencies, *self.devDependencies, *self.peerDependencies, *self.optionalDependencies}


class _Lock(Struct, frozen=True):
    packages: dict[str, _Dependencies] = {}


def environment(directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What a server for this directory is given, beside its `environment`. Blocking."""
    return {} if any(_awaited(folder) for folder in _folders(directory, environment)) else {VARIABLE: NOWHERE}


def _folders(directory: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Where OpenCode looks for configuration: the user's own, and the directory's as far as the repository goes."""
    yield program.config_home(environment) / "opencode"
    yield Path(environment.get("HOME") or Path.home()) / ".opencode"
    if named := environment.get("OPENCODE_CONFIG_DIR"):
        yield Path(named)
    for folder in (directory, *directory.parents):
        yield folder / ".opencode"
        if (folder / ".git").exists():
            return


def _awaited(folder: Path) -> bool:
    """Something in it needs packages that are not there yet."""
    named = _read(folder / "package.json", _Dependencies()).names() | {_PACKAGE}
    if not any((folder / name).exists() for name in _EXTENSIONS) and named == {_PACKAGE}:
        return False
    locked = _read(folder / "package-lock.json", _Lock()).packages.get("", _Dependencies()).names()
    return not (named <= locked and (folder / "node_modules").is_dir())


def _read(path: Path, otherwise: T) -> T:
    """A file that cannot be read is taken as empty, as OpenCode does."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type(otherwise))
    except (OSError, msgspec.MsgspecError, RecursionError):
        return otherwise
