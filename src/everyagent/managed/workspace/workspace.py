"""Prepares the folder of a managed session: its files, repositories, skills and packages.

Paths of the API (`/mnt/session/uploads/…`, `/mnt/memory/…`, `/workspace/…`) are folders below that one.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from everyagent.errors import NotFound
from everyagent.held_folders import held, remove
from everyagent.logs import get_logger
from everyagent.managed.packages.install import install, machine_limits
from everyagent.managed.packages.subprocesses import in_thread
from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.managed.resources.environments.networking import limited, reaches
from everyagent.managed.resources.environments.shape import Cloud, Environment, SelfHosted
from everyagent.managed.resources.files.store import FileStore, write_read_only
from everyagent.managed.resources.skills.store import SkillStore
from everyagent.managed.resources.vaults.credentials import CredentialStore
from everyagent.managed.workspace.note import place, workspace_note
from everyagent.managed.workspace.outputs import Outputs
from everyagent.managed.workspace.repositories import RepositoryProblem, clone
from everyagent.managed.workspace.shape import (
    OUTPUTS,
    UPLOADS,
    MemoryStoreResource,
    RepositoryResource,
    Resource,
)
from everyagent.managed.workspace.storage import LEFT_BEHIND, WorkspaceStorage
from everyagent.managed.workspace.store import ResourceStore
from everyagent.model.tools import SKILL_FOLDERS, McpRemote, McpServer
from everyagent.sessions.launch.allowed_hosts import no_shell
from everyagent.sessions.launch.known_secrets import is_location
from everyagent.sessions.locks import Locks

_SESSION_ID = re.compile("[A-Za-z0-9_-]{1,128}")
logger = get_logger(__name__)


class Prepared(Struct, frozen=True, kw_only=True):
    """The folder, variables and servers that an agent starts with. Missing parts are reported and do not stop it.

    `packages` are folders that programs named in `env` need. `secrets` are masked. `note` goes at the end of the system
    prompt. `unreached` are MCP servers that the network does not allow.
    """

    directory: Path
    env: dict[str, str]
    packages: list[Path]
    mcp: dict[str, McpServer]
    secrets: dict[str, str]
    note: str
    problems: list[str]
    repositories: list[RepositoryProblem]
    unreached: list[str]


class Workspaces:
    def __init__(
        self,
        folder: Path,
        locks: Locks,
        *,
        files: FileStore,
        resources: ResourceStore,
        credentials: CredentialStore,
        skills: SkillStore,
        storage: WorkspaceStorage | None,
    ) -> None:
        """`storage` is given in a cluster only."""
        self._folder = folder
        self._storage = storage
        self._locks = locks
        self._files = files
        self._resources = resources
        self._credentials = credentials
        self._skills = skills
        self.outputs = Outputs(files, self.place, locks)

    def directory(self, session_id: str) -> Path:
        """The session's folder, created if it does not exist."""
        root = self.place(session_id, "/")
        root.mkdir(parents=True, exist_ok=True)
        for path in (UPLOADS, OUTPUTS):
            # What needs a folder reports that the agent put something else there.
            with suppress(OSError), held(root, _parts(path), create=True):
                continue
        return root.resolve()

    def place(self, session_id: str, path: str) -> Path:
        """The path in the session's folder for a path of the API."""
        if not _SESSION_ID.fullmatch(session_id):
            raise NotFound(f"There is no session {session_id!r}.")
        return place(self._folder / "workspaces" / session_id, path)

    async def prepare(
        self, session_id: str, agent: SessionAgent, environment: Environment, vault_ids: Sequence[str]
    ) -> Prepared:
        """Adds what is missing; what exists stays as the agent left it."""
        root = await asyncio.to_thread(self.directory, session_id)
        resources = await self._resources.of(session_id)
        repositories: list[RepositoryProblem] = []
        unplaced: list[str] = []
        for resource in resources:
            try:
                problem = await self.lay_out(session_id, resource)
                repositories += [problem] if problem else []
            except OSError as error:
                unplaced.append(f"nothing could be laid at {resource.mount_path}: {error.strerror}")
        skills = await self._skills.lay_out(agent.skills, [root / folder for folder in SKILL_FOLDERS])
        given = await self._credentials.given_by(vault_ids)
        packages: list[Path] = []
        env, problems = given.env, [*unplaced, *skills.problems, *given.problems]
        if self._storage is not None and await self._storage.left_behind(session_id):
            problems.append(LEFT_BEHIND)
        if isinstance(environment.config, Cloud):
            wanted, path = environment.config.packages, os.environ.get("PATH", os.defpath)
            installed = await in_thread(partial(install, wanted, self._folder / "packages", path))
            env, problems = installed.env | given.env, [*problems, *installed.problems]
            packages = installed.folders
        servers = [server for server in agent.mcp_servers if reaches(environment.config, server)]
        return Prepared(
            directory=root,
            env=env,
            packages=packages,
            mcp={server.name: _server(server.url, given.bearers) for server in servers},
            secrets=given.hidden | {name: value for name, value in given.env.items() if not is_location(value)},
            note=workspace_note(root, resources, skills.found, hosted=isinstance(environment.config, SelfHosted)),
            problems=problems,
            repositories=repositories,
            unreached=[server.name for server in agent.mcp_servers if server not in servers],
        )

    async def lay_out(self, session_id: str, resource: Resource) -> RepositoryProblem | None:
        """Writes one resource to its mount path, also while the session runs."""
        if isinstance(resource, MemoryStoreResource):
            return None  # its mount is synchronized turn by turn
        root, parts = self.place(session_id, "/"), _parts(resource.mount_path)
        target = root.joinpath(*parts)
        async with self._locks.hold(f"resource {resource.id}"):
            if await asyncio.to_thread(os.path.lexists, target):
                return None
            if isinstance(resource, RepositoryResource):
                token = await self._resources.token(session_id, resource.id)
                return await in_thread(partial(clone, resource, token, root, parts))
            _, content = await self._files.open(resource.file_id)
            with content:
                await asyncio.to_thread(write_read_only, content, root, parts)
            return None

    async def take_back(self, session_id: str, resource: Resource) -> None:
        """Removes a deleted resource from the folder."""
        await asyncio.to_thread(_remove, self.place(session_id, "/"), resource.mount_path)

    async def remove(self, session_id: str) -> None:
        """Removes the folder and the resources of a deleted session."""
        root = self.place(session_id, "/")
        await asyncio.to_thread(_remove, root.parent, root.name)
        await self._resources.take_away(session_id)
        if self._storage is not None:
            await self._storage.forget(session_id)


async def limits_of(environment: Environment) -> list[str]:
    """Warnings about settings of an environment that this machine cannot apply."""
    config = environment.config
    if not isinstance(config, Cloud):
        return []
    limits = machine_limits(config.packages)
    if limited(config) and (why := await no_shell()):
        limits.append(f"limited networking is enforced on Codex alone: {why}")
    return limits


def _server(url: str, bearers: dict[str, str]) -> McpRemote:
    token = bearers.get(url) or bearers.get(url.rstrip("/")) or bearers.get(f"{url}/")
    return McpRemote(url=url, headers={"Authorization": f"Bearer {token}"} if token else {})


def _remove(root: Path, path: str) -> None:
    """Removes a file or a folder, also a read-only one, if it is still there."""
    *parents, name = _parts(path)
    try:
        with held(root, parents) as folder:
            remove(folder, name)
    except FileNotFoundError:
        pass
    except OSError as error:
        note = "not everything of a workspace was removed; remove the rest by hand"
        logger.warning(note, folder=str(root), path=path, error=str(error))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
