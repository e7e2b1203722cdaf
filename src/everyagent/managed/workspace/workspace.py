"""Where a managed session works: one folder, with its files, repositories and skills in it, and a word about it.

Paths of the API (`/mnt/session/uploads/…`, `/mnt/memory/…`, `/workspace/…`) are real folders below that one.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from everyagent.errors import NotFound
from everyagent.managed.memory.prompt import memory_note
from everyagent.managed.packages.install import install, machine_limits
from everyagent.managed.packages.subprocesses import in_thread
from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.managed.resources.environments.networking import limited, reaches
from everyagent.managed.resources.environments.shape import Cloud, Environment, SelfHosted
from everyagent.managed.resources.files.outputs import Outputs
from everyagent.managed.resources.files.store import FileStore, write_read_only
from everyagent.managed.resources.skills.store import SkillStore
from everyagent.managed.resources.vaults.credentials import CredentialStore
from everyagent.managed.workspace.repositories import RepositoryProblem, clone
from everyagent.managed.workspace.shape import (
    OUTPUTS,
    UPLOADS,
    FileResource,
    MemoryStoreResource,
    RepositoryResource,
    Resource,
)
from everyagent.managed.workspace.store import ResourceStore
from everyagent.model.tools import McpRemote, McpServer
from everyagent.sessions.launch.allowed_hosts import no_shell
from everyagent.sessions.locks import Locks

#: Where the agents that know skills look for them.
SKILL_FOLDERS = (".claude/skills", ".agents/skills")
_SESSION_ID = re.compile("[A-Za-z0-9_-]{1,128}")


class Prepared(Struct, frozen=True, kw_only=True):
    """What an agent is started with. Of what is missing the session tells, and works on.

    `note` belongs at the end of the system prompt. `unreached` are MCP servers that its network does not reach.
    """

    directory: Path
    env: dict[str, str]
    mcp: dict[str, McpServer]
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
    ) -> None:
        self._folder = folder
        self._locks = locks
        self._files = files
        self._resources = resources
        self._credentials = credentials
        self._skills = skills
        self.outputs = Outputs(files, self.place, locks)

    def directory(self, session_id: str) -> Path:
        """Made if it is not there."""
        root = self.place(session_id, "/")
        for path in (UPLOADS, OUTPUTS):
            place(root, path).mkdir(parents=True, exist_ok=True)
        return root.resolve()

    def place(self, session_id: str, path: str) -> Path:
        """Where a path of the API lies."""
        if not _SESSION_ID.fullmatch(session_id):
            raise NotFound(f"There is no session {session_id!r}.")
        return place(self._folder / "workspaces" / session_id, path)

    async def prepare(
        self, session_id: str, agent: SessionAgent, environment: Environment, vault_ids: Sequence[str]
    ) -> Prepared:
        """Everything that is not there yet; what is there stays as the agent left it."""
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
        env, problems = given.env, [*unplaced, *skills.problems, *given.problems]
        if isinstance(environment.config, Cloud):
            packages, path = environment.config.packages, os.environ.get("PATH", os.defpath)
            installed = await in_thread(partial(install, packages, self._folder / "packages", path))
            env, problems = installed.env | given.env, [*problems, *installed.problems]
        servers = [server for server in agent.mcp_servers if reaches(environment.config, server)]
        return Prepared(
            directory=root,
            env=env,
            mcp={server.name: _server(server.url, given.bearers) for server in servers},
            note=_note(root, resources, skills.found, hosted=isinstance(environment.config, SelfHosted)),
            problems=problems,
            repositories=repositories,
            unreached=[server.name for server in agent.mcp_servers if server not in servers],
        )

    async def lay_out(self, session_id: str, resource: Resource) -> RepositoryProblem | None:
        """One resource, at its place; also into a session that runs."""
        if isinstance(resource, MemoryStoreResource):
            return None  # its mount is synchronized turn by turn
        target = self.place(session_id, resource.mount_path)
        async with self._locks.hold(f"resource {resource.id}"):
            if await asyncio.to_thread(os.path.lexists, target):
                return None
            if isinstance(resource, RepositoryResource):
                token = await self._resources.token(session_id, resource.id)
                return await in_thread(partial(clone, resource, token, target))
            _, content = await self._files.open(resource.file_id)
            with content:
                await asyncio.to_thread(write_read_only, content, target)
            return None

    async def take_back(self, session_id: str, resource: Resource) -> None:
        """A resource that was deleted."""
        target = self.place(session_id, resource.mount_path)
        await asyncio.to_thread(_remove, target)

    async def remove(self, session_id: str) -> None:
        """The session is gone, and so is everything it had."""
        await asyncio.to_thread(_remove, self.place(session_id, "/"))
        await self._resources.take_away(session_id)


async def limits_of(environment: Environment) -> list[str]:
    """What this machine does not do of what an environment asks for."""
    config = environment.config
    if not isinstance(config, Cloud):
        return []
    limits = machine_limits(config.packages)
    if limited(config) and (why := await no_shell()):
        limits.append(f"limited networking is enforced on Codex alone: {why}")
    return limits


def place(root: Path, path: str) -> Path:
    return root.joinpath(*(part for part in path.split("/") if part))


def _server(url: str, bearers: dict[str, str]) -> McpRemote:
    token = bearers.get(url) or bearers.get(url.rstrip("/")) or bearers.get(f"{url}/")
    return McpRemote(url=url, headers={"Authorization": f"Bearer {token}"} if token else {})


def _note(root: Path, resources: Sequence[Resource], skills: Sequence[tuple[str, str]], *, hosted: bool) -> str:
    """Where the client's own machine carries out the tools, memory lies there."""
    lines = [
        f"Your working directory is {root}. Paths that begin with /mnt/session or /workspace mean {root}/mnt/session "
        f"and {root}/workspace.",
        f"Files the user shall get belong in {place(root, OUTPUTS)}.",
    ]
    lines += [
        f"{'File' if isinstance(each, FileResource) else f'Repository {each.url}'}: {place(root, each.mount_path)}"
        for each in resources
        if not isinstance(each, MemoryStoreResource)
    ]
    lines += [
        f"Skill {name}: {description} (see {root / SKILL_FOLDERS[0] / name / 'SKILL.md'})"
        for name, description in skills
    ]
    lines += memory_note(resources, lambda path: path if hosted else str(place(root, path)))
    return "\n".join(lines)


def _remove(target: Path) -> None:
    """Also folders that nobody may write to."""
    if target.is_dir() and not target.is_symlink():
        for parent, *_ in os.walk(target):
            os.chmod(parent, 0o700)
        shutil.rmtree(target, ignore_errors=True)
    else:
        target.unlink(missing_ok=True)
