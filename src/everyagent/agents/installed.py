"""An agent's program on this machine: finds it, reads its version, lists its catalog, installs it."""

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

ASK_AGAIN_SECONDS = 60.0


class ProgramIdentity(NamedTuple):
    """The constants of one agent's program. The environment variable `variable` may name another binary.

    `command` is its name on the PATH, if that is not its own. `login` names the account in use, or returns None.
    `lacking` names a missing dependency, of the machine or of the installation folder.
    """

    name: str
    title: str
    variable: str
    tested_version: str
    pinned: Callable[[], packages.Program]
    login: Callable[[Mapping[str, str]], str | None]
    lacking: Callable[[Mapping[str, str], Path], str | None] | None = None
    command: str | None = None


#: Versions by path and modification time, since asking a program takes seconds.
_versions: dict[tuple[str, int], str | None] = {}


class InstalledProgram:
    """The program is installed in `folder`; `environment` is the daemon's own."""

    def __init__(self, identity: ProgramIdentity, folder: Path, environment: Mapping[str, str]) -> None:
        self._identity = identity
        self._folder = folder / identity.name
        self._environment = environment
        self._catalogs: dict[str, Catalog] = {}
        self._ask_again: dict[str, float] = {}
        self._asking = anyio.Lock()

    def find(self) -> str | None:
        """The binary that the variable names, else one on the PATH, else the installed one."""
        named = self._environment.get(self._identity.variable)
        if named:
            return named if os.access(named, os.X_OK) else None
        on_path = shutil.which(self._identity.command or self._identity.name, path=self._environment.get("PATH"))
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
            raise AgentNotInstalled(f"{identity.variable} names {named}, which is no program. Correct or unset it.")
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
        """Install the pinned version. A binary that is named or on the PATH still has precedence."""
        if reinstall or not self.find():
            pinned = self._identity.pinned()
            await to_thread.run_sync(
                lambda: packages.install(pinned, self._folder, reinstall=reinstall), abandon_on_cancel=False
            )
        self._ask_again.clear()
        return await self.state()

    async def catalog(self, ask: Callable[[str], Awaitable[Catalog]], unasked: Catalog) -> Catalog:
        """The program's catalog, asked for once; `unasked` if it is not installed or does not answer.

        A program that did not answer is asked again after `ASK_AGAIN_SECONDS`: each time may take half a minute.
        """
        path = self.find()
        if path is None:
            return unasked
        async with self._asking:
            if path not in self._catalogs:
                if anyio.current_time() < self._ask_again.get(path, 0.0):
                    return unasked
                try:
                    self._catalogs[path] = await ask(path)
                except AgentFailed as failure:
                    logger.warning("an agent did not list its models", agent=self._identity.name, error=failure.detail)
                    self._ask_again[path] = anyio.current_time() + ASK_AGAIN_SECONDS
                    return unasked
                except Exception:
                    logger.exception("an agent's models could not be read", agent=self._identity.name)
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
