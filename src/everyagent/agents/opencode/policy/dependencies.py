"""Keeps OpenCode from installing packages, which it does in every configuration folder that it reads.

The server gets an environment variable with an invalid package registry. Used by `adapter.py` for each session.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from everyagent.agents.opencode import program

#: The registry of OpenCode's own packages only; other packages that the user has configured are still fetched.
VARIABLE = "npm_config_@opencode-ai:registry"
#: Not a valid address, so that OpenCode gives up at once. It logs that and continues.
NOWHERE = "http://[everyagent fetches nothing unasked]"
#: A configuration folder with one of these needs the packages that OpenCode would install there.
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
    """Variables for a server of this directory, in addition to its `environment`. Blocking."""
    return {} if any(_awaited(folder) for folder in _folders(directory, environment)) else {VARIABLE: NOWHERE}


def _folders(directory: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """OpenCode's configuration folders: the user's, and those from the directory up to the repository's root."""
    yield program.config_home(environment) / "opencode"
    yield Path(environment.get("HOME") or Path.home()) / ".opencode"
    if named := environment.get("OPENCODE_CONFIG_DIR"):
        yield Path(named)
    for folder in (directory, *directory.parents):
        yield folder / ".opencode"
        if (folder / ".git").exists():
            return


def _awaited(folder: Path) -> bool:
    """True if the folder needs packages that are not installed yet."""
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
