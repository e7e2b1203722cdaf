"""An agent's program on this machine: where it is, which version, what it offers; and how it gets there."""

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio import to_thread

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Catalog
from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.logs import get_logger

logger = get_logger(__name__)


class Identity(NamedTuple):
    """What sets one agent's program apart. `variable` names another binary; `login` says who pays, if anybody does.

    `lacking` says what it needs beside and is not there, of the machine or in the folder where we install it.
    """

    name: str
    title: str
    variable: str
    tested_version: str
    pinned: Callable[[], packages.Program]
    login: Callable[[Mapping[str, str]], str | None]
    lacking: Callable[[Mapping[str, str], Path], str | None] | None = None


#: Of each program in each of its states: to ask takes seconds.
_versions: dict[tuple[str, int], str | None] = {}


class Installed:
    """`folder` is where we install it; `environment` is the daemon's own."""

    def __init__(self, identity: Identity, folder: Path, environment: Mapping[str, str]) -> None:
        self._identity = identity
        self._folder = folder / identity.name
        self._environment = environment
        self._catalogs: dict[str, Catalog] = {}
        self._asking = anyio.Lock()

    def find(self) -> str | None:
        """The one that was named, else the one on the PATH, else the one we installed."""
        named = self._environment.get(self._identity.variable)
        if named:
            return named if os.access(named, os.X_OK) else None
        on_path = shutil.which(self._identity.name, path=self._environment.get("PATH"))
        if on_path:
            return on_path
        ours = packages.installed(self._identity.pinned(), self._folder)
        return str(ours) if ours else None

    def located(self) -> str:
        path, identity = self.find(), self._identity
        if path:
            return path
        named = self._environment.get(identity.variable)
        if named:
            raise AgentNotInstalled(f"{identity.variable} names {named}, and there is no program. Correct or unset it.")
        raise AgentNotInstalled(
            f"{identity.title} is not on this machine. Run `everyagent agents install {identity.name}`."
        )

    async def state(self) -> AgentState:
        path = self.find()
        login = self._identity.login(self._environment)
        version = await self._version(path) if path else None
        return AgentState(
            installed=version is not None,
            credentials_available=login is not None,
            version=version,
            tested_version=self._identity.tested_version,
            path=path,
            login=login,
            problem=self._problem(path, version),
        )

    async def install(self, *, reinstall: bool) -> AgentState:
        """The pinned version. One that was there before, on the PATH or named, is still the one that is used."""
        if reinstall or not self.find():
            pinned = self._identity.pinned()
            await to_thread.run_sync(
                lambda: packages.install(pinned, self._folder, reinstall=reinstall), abandon_on_cancel=False
            )
        return await self.state()

    async def catalog(self, ask: Callable[[str], Awaitable[Catalog]], unasked: Catalog) -> Catalog:
        """Asked once for each program; where it is not there, or does not tell, `unasked`."""
        path = self.find()
        if path is None:
            return unasked
        async with self._asking:
            if path not in self._catalogs:
                try:
                    self._catalogs[path] = await ask(path)
                except AgentFailed as failure:
                    logger.warning("an agent did not tell its models", agent=self._identity.name, error=failure.detail)
                    return unasked
            return self._catalogs[path]

    async def _version(self, path: str) -> str | None:
        key = (path, os.stat(path).st_mtime_ns)
        if key not in _versions:
            _versions[key] = await to_thread.run_sync(packages.version_of, path)
        return _versions[key]

    def _problem(self, path: str | None, version: str | None) -> str | None:
        if path is None:
            return None
        if version is None:
            return f"{path} does not run: it did not answer to --version."
        if version != self._identity.tested_version:
            return f"Version {version} has not been tested with this everyagent; it is used all the same."
        lacking = self._identity.lacking
        return lacking(self._environment, self._folder) if lacking else None
