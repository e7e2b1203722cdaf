"""The program of an ACP agent: from npm in a tested version, or a command of the user's own."""

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
from msgspec.structs import replace

from everyagent.agents import packages
from everyagent.agents.acp.profile import NpmPackage, Profile, PypiPackage
from everyagent.agents.adapter import AgentState, Catalog
from everyagent.agents.installed import InstalledProgram, ProgramIdentity
from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.logs import get_logger

logger = get_logger(__name__)


class AcpProgram(Protocol):
    """Finds the program, reports its state, installs it."""

    def located(self) -> str: ...
    async def state(self) -> AgentState: ...
    async def install(self, *, reinstall: bool) -> AgentState: ...
    async def catalog(self, ask: Callable[[str], Awaitable[Catalog]], unasked: Catalog) -> Catalog: ...


def program_of(profile: Profile, folder: Path, environment: Mapping[str, str]) -> AcpProgram:
    package = profile.npm or profile.pypi
    if package is None:
        return OwnProgram(profile, environment)
    return InstalledProgram(identity(profile, package), folder, environment)


async def state_of(profile: Profile, program: AcpProgram) -> AgentState:
    return replace(await program.state(), gaps=profile.gaps)


def identity(profile: Profile, package: NpmPackage | PypiPackage) -> ProgramIdentity:
    return ProgramIdentity(
        profile.name,
        profile.title,
        profile.variable,
        package.version,
        partial(pinned, package),
        partial(login, profile),
        command=profile.command,
    )


def pinned(package: NpmPackage | PypiPackage) -> packages.Program:
    if isinstance(package, PypiPackage):
        return packages.Program(
            package=package.package, version=package.version, member=package.command, python=package.python
        )
    platform = packages.platform_name()
    return packages.Program(
        package=package.package.format(platform=platform),
        version=package.version,
        member=package.member,
        root="package" if package.whole else "",
        dependencies=package.dependencies,
    )


def login(profile: Profile, environment: Mapping[str, str]) -> str | None:
    """The account in use, by the variable or the file that names it; None if there is none. Secrets are not read."""
    for name in profile.keys:
        if environment.get(name):
            return name
    home = Path(environment.get("HOME") or Path.home())
    return next((f"~/{path}" for path in profile.logins if (home / path).exists()), None)


class OwnProgram:
    """A command from the user's settings. Its version and login are unknown; it is the user's to install."""

    def __init__(self, profile: Profile, environment: Mapping[str, str]) -> None:
        self._profile = profile
        self._path = environment.get("PATH")
        self._catalog: Catalog | None = None
        self._asking = anyio.Lock()

    def located(self) -> str:
        command = self._profile.own_command[0]
        found = shutil.which(os.path.expanduser(command), path=self._path)
        if found is None:
            raise AgentNotInstalled(
                f"{self._profile.title} is started with `{command}`, which is no program on this machine. Correct "
                f"`command` of [agents.{self._profile.name}] in config.toml."
            )
        return found

    async def state(self) -> AgentState:
        try:
            path = self.located()
        except AgentNotInstalled as problem:
            return AgentState(installed=False, credentials_available=False, problem=problem.detail)
        return AgentState(installed=True, credentials_available=True, path=path)

    async def install(self, *, reinstall: bool) -> AgentState:
        raise AgentFailed(
            f"{self._profile.title} is an agent of your own: everyagent does not install it. Its command is in "
            "config.toml."
        )

    async def catalog(self, ask: Callable[[str], Awaitable[Catalog]], unasked: Catalog) -> Catalog:
        """The agent's own list of modes and models, asked for once; `unasked` if it does not answer."""
        async with self._asking:
            if self._catalog is None:
                try:
                    self._catalog = await ask(self.located())
                except (AgentFailed, AgentNotInstalled) as failure:
                    logger.warning("an agent did not list its models", agent=self._profile.name, error=failure.detail)
                    return unasked
                except Exception:
                    logger.exception("an agent's models could not be read", agent=self._profile.name)
                    return unasked
            return self._catalog
