"""Claude Code as an adapter: one process a session, a pinned version that can be installed."""

import os
from collections.abc import Mapping
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.claude import catalog, program
from everyagent.agents.claude import launch as launching
from everyagent.agents.claude.driver import ClaudeConversation
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.process import Process
from everyagent.runtime.warden import Warden

logger = get_logger(__name__)


class ClaudeAdapter:
    """Conversations run as tasks of `nursery`. `folder` is where agents are installed.

    `environment` is the daemon's own. Without a `warden` it brings its own, and closes it.
    """

    name = "claude"
    title = "Claude Code"

    def __init__(
        self,
        nursery: TaskGroup,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        warden: Warden | None = None,
    ) -> None:
        self._nursery = nursery
        self._folder = folder / self.name
        self._environment = os.environ if environment is None else environment
        self._warden = warden or Warden()
        self._owns_warden = warden is None
        self._versions: dict[tuple[str, int], str | None] = {}
        self._catalogs: dict[str, Catalog] = {}
        self._asking = anyio.Lock()

    @property
    def capabilities(self) -> Capabilities:
        return catalog.CAPABILITIES

    async def state(self) -> AgentState:
        path = program.find(self._folder, self._environment)
        login = program.login(self._environment)
        version = await self._version(path) if path else None
        return AgentState(
            installed=version is not None,
            credentials_available=login is not None,
            version=version,
            tested_version=program.TESTED_VERSION,
            path=path,
            login=login,
            problem=_problem(path, version),
        )

    async def catalog(self) -> Catalog:
        """Asked once for each program; where it is not there, what it usually offers."""
        path = program.find(self._folder, self._environment)
        if path is None:
            return catalog.UNASKED
        async with self._asking:
            known = self._catalogs.get(path) or await self._ask(path)
            if known is not catalog.UNASKED:
                self._catalogs[path] = known
        return known

    async def install(self, *, reinstall: bool) -> AgentState:
        """The pinned version. One that was there before, on the PATH or named, is still the one that is used."""
        if reinstall or not program.find(self._folder, self._environment):
            await to_thread.run_sync(
                lambda: packages.install(program.pinned(), self._folder, reinstall=reinstall), abandon_on_cancel=False
            )
        return await self.state()

    async def open(self, launch: Launch, listener: Listener) -> ClaudeConversation:
        binary = program.located(self._folder, self._environment)
        config = await to_thread.run_sync(launching.write_mcp_config, launch)
        process = await Process.start(
            launching.argv(binary, launch, config),
            directory=launch.directory,
            environment=launching.environment(launch, self._environment),
            warden=self._warden,
        )
        conversation = ClaudeConversation(process, launch, listener)
        await conversation.begin()
        self._nursery.start_soon(conversation.run)
        return conversation

    async def close(self) -> None:
        if self._owns_warden:
            await self._warden.close()

    async def _version(self, path: str) -> str | None:
        key = (path, os.stat(path).st_mtime_ns)
        if key not in self._versions:
            self._versions[key] = await to_thread.run_sync(packages.version_of, path)
        return self._versions[key]

    async def _ask(self, path: str) -> Catalog:
        nobody = Launch(
            session_id="", directory=Path("/"), scratch=Path("/"), permission_mode="default", agent_mode="build"
        )
        environment = launching.environment(nobody, self._environment)
        try:
            return await catalog.asked(path, Path("/"), environment, self._warden)
        except AgentFailed as failure:
            logger.warning("claude code did not tell its models", path=path, error=failure.detail)
            return catalog.UNASKED


def _problem(path: str | None, version: str | None) -> str | None:
    if path is None:
        return None
    if version is None:
        return f"{path} does not run: it did not answer to --version."
    if version != program.TESTED_VERSION:
        return f"Version {version} has not been tested with this everyagent; it is used all the same."
    return None
