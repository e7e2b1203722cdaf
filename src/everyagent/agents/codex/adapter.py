"""Codex as an adapter: sessions share app-servers, and a pinned version can be installed."""

import os
from collections.abc import Mapping
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from everyagent.agents import packages
from everyagent.agents.adapter import AgentState, Capabilities, Catalog, Launch, Listener
from everyagent.agents.codex import catalog, program
from everyagent.agents.codex import launch as launching
from everyagent.agents.codex.driver import CodexConversation
from everyagent.agents.codex.servers import Kind, Servers
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.runtime.warden import Warden

logger = get_logger(__name__)


class CodexAdapter:
    """Conversations and app-servers run as tasks of `nursery`. `folder` is where agents are installed.

    `environment` is the daemon's own. Without a `warden` it brings its own, and closes it.
    """

    name = "codex"
    title = "Codex"

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
        self._servers = Servers(nursery, self._warden)
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
        """Asked once for each program; where it is not there, no model is known and any is taken."""
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

    async def open(self, launch: Launch, listener: Listener) -> CodexConversation:
        binary = program.located(self._folder, self._environment)
        if not launch.directory.is_dir():
            raise AgentFailed(
                f"The session's directory {launch.directory} does not exist. Make it, or start another session."
            )
        environment = launching.environment(launch.env, self._environment)
        kind = Kind.of(launching.argv(binary, environment), environment)
        conversation = CodexConversation(launch, listener)
        server = await self._servers.join(kind, conversation)
        self._nursery.start_soon(conversation.run)
        try:
            await conversation.begin(server)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await conversation.abandon()
            raise
        return conversation

    async def close(self) -> None:
        await self._servers.close()
        if self._owns_warden:
            await self._warden.close()

    async def _version(self, path: str) -> str | None:
        key = (path, os.stat(path).st_mtime_ns)
        if key not in self._versions:
            self._versions[key] = await to_thread.run_sync(packages.version_of, path)
        return self._versions[key]

    async def _ask(self, path: str) -> Catalog:
        environment = launching.environment({}, self._environment)
        kind = Kind.of(launching.argv(path, environment, quiet=True), environment)
        try:
            return await catalog.asked(kind, self._nursery, self._warden)
        except AgentFailed as failure:
            logger.warning("codex did not tell its models", path=path, error=failure.detail)
            return catalog.UNASKED


def _problem(path: str | None, version: str | None) -> str | None:
    if path is None:
        return None
    if version is None:
        return f"{path} does not run: it did not answer to --version."
    if version != program.TESTED_VERSION:
        return f"Version {version} has not been tested with this everyagent; it is used all the same."
    return None
