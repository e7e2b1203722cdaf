"""The services behind the Managed Agents API (`/anthropic`), built once for a daemon."""

from msgspec.structs import replace

from everyagent.errors import BadRequest, Conflict, SessionNotFound
from everyagent.managed.deployments.runs import Runs
from everyagent.managed.deployments.scheduler import Scheduler
from everyagent.managed.deployments.store import DeploymentStore
from everyagent.managed.memory.memories import Memories
from everyagent.managed.memory.mounts import Mounts
from everyagent.managed.memory.stores import MemoryStores
from everyagent.managed.memory.versions import MemoryVersions
from everyagent.managed.outcomes.judge import OutcomeJudge
from everyagent.managed.resources.agents.store import AgentStore
from everyagent.managed.resources.environments.store import EnvironmentStore
from everyagent.managed.resources.files.shape import FileListQuery, FilePage
from everyagent.managed.resources.files.store import FileStore
from everyagent.managed.resources.record_store import Deleted
from everyagent.managed.resources.skills.store import SkillStore
from everyagent.managed.resources.vaults.credentials import CredentialStore
from everyagent.managed.resources.vaults.store import VaultStore
from everyagent.managed.roster.calls import RosterCalls
from everyagent.managed.roster.reports import ThreadReports
from everyagent.managed.sessions.conversation import Talking
from everyagent.managed.sessions.creation import SessionCreation
from everyagent.managed.sessions.initial_events import InitialEvents
from everyagent.managed.sessions.prompts import Prompts
from everyagent.managed.sessions.sessions import ManagedSessions
from everyagent.managed.sessions.threads import SessionThreads
from everyagent.managed.work_queue.keys import WorkerKeys
from everyagent.managed.work_queue.queue import WorkQueue
from everyagent.managed.workspace.shape import FileParams, Resource
from everyagent.managed.workspace.storage import WorkspaceStorage
from everyagent.managed.workspace.store import ResourceStore
from everyagent.managed.workspace.workspace import Workspaces
from everyagent.model.principals import current
from everyagent.model.sessions import Attachment, SendMessage
from everyagent.sessions import Sessions


class Managed:
    def __init__(self, sessions: Sessions) -> None:
        services = sessions.services
        records = services.records
        self.sessions = sessions
        self.skills = SkillStore(records)
        self.keys = WorkerKeys(records, services.vault, services.clock)
        self.agents = AgentStore(records, self.skills.pinned)
        self.environments = EnvironmentStore(records)
        self.files = FileStore(records, services.folder / "attachments", services.clock)
        self.vaults = VaultStore(records)
        self.credentials = CredentialStore(records, self.vaults, services.vault, services.locks, services.clock)
        self.memory_stores = MemoryStores(records, services.locks)
        self.memories = Memories(records, self.memory_stores, services.locks)
        self.memory_versions = MemoryVersions(records, self.memory_stores, services.locks, services.clock)
        self.resources = ResourceStore(records, self.files, self.memory_stores, services.vault)
        self.workspaces = Workspaces(
            services.folder,
            services.locks,
            files=self.files,
            resources=self.resources,
            credentials=self.credentials,
            skills=self.skills,
            storage=WorkspaceStorage(records, services.folder / "workspaces") if services.node else None,
        )
        self.mounts = Mounts(
            records,
            self.memory_stores,
            self.memories,
            services.locks,
            place=self.workspaces.place,
            rests=self._rests,
        )
        self.queue = WorkQueue(sessions.projected, records, self.keys, self.mounts.access, services.clock)
        self.keys.sessions = self.queue
        prompts = Prompts(self.files)
        self.reports = ThreadReports(sessions)
        self.talking = Talking(sessions.projected, prompts, self.workspaces.place, self.reports)
        self.initial_events = InitialEvents(sessions, records, self.talking, self.workspaces)
        self.judge = OutcomeJudge(sessions, prompts, self.credentials)
        self.threads = SessionThreads(sessions, self.talking)
        creating = SessionCreation(
            sessions,
            agents=self.agents,
            environments=self.environments,
            vaults=self.vaults,
            resources=self.resources,
            workspaces=self.workspaces,
            talking=self.talking,
            initial_events=self.initial_events,
        )
        self.roster = RosterCalls(sessions, creating, self.reports)
        self.deployments = DeploymentStore(
            records,
            services.vault,
            services.clock,
            agents=self.agents,
            environments=self.environments,
            vaults=self.vaults,
            talking=self.talking,
        )
        self.runs = Runs(records, services.clock, sessions, deployments=self.deployments, creating=creating)
        self.scheduler = Scheduler(
            records, services.clock, self.deployments, self.runs, clustered=services.node is not None
        )
        self.managed_sessions = ManagedSessions(
            sessions,
            creating=creating,
            resources=self.resources,
            mounts=self.mounts,
            streams=self.talking.streams,
            vaults=self.vaults,
        )

    async def _rests(self, session_id: str) -> bool:
        try:
            return (await self.sessions.get(session_id)).status not in ("running", "waiting")
        except SessionNotFound:
            return True

    async def _visible(self, session_id: str) -> bool:
        """Whether the session belongs to the workspace of the request."""
        if current().workspace is None:
            return True
        try:
            await self.sessions.get(session_id)
        except SessionNotFound:
            return False
        return True

    async def list_files(self, asked: FileListQuery) -> FilePage:
        """Collects the outputs of the session first, if one is given."""
        if asked.scope_id is not None and await self._visible(asked.scope_id):
            await self.workspaces.outputs.collect(asked.scope_id)
        return await self.files.list(asked)

    async def with_files(self, message: SendMessage) -> SendMessage:
        """The message with a path for each attachment that is given by file id."""

        async def found(attachment: Attachment) -> Attachment:
            if attachment.file_id is None or attachment.path is not None or attachment.data is not None:
                return attachment
            file, path = await self.files.path(attachment.file_id)
            return Attachment(
                path=str(path),
                mime=attachment.mime or file.mime_type,
                filename=attachment.filename or file.filename,
            )

        return replace(message, attachments=[await found(each) for each in message.attachments])

    async def give_file(self, session_id: str, asked: FileParams) -> Resource:
        """Adds a file to a session's resources and to its folder: both or neither."""
        _, projection = await self.sessions.projected.find(session_id)
        if projection.status == "terminated":
            raise BadRequest(f"The session {session_id} has ended: it stays as it is.", error_code="session_archived")
        resource = await self.resources.add(session_id, asked)
        try:
            await self.workspaces.lay_out(session_id, resource)
        except OSError as error:
            await self.resources.delete(session_id, resource.id)
            raise Conflict(
                f"The file cannot lie at {resource.mount_path}: {error.strerror}. Choose another `mount_path`.",
                field="mount_path",
            ) from error
        return resource

    async def change_token(self, session_id: str, resource_id: str, token: str) -> Resource:
        resource = await self.resources.change_token(session_id, resource_id, token)
        await self.workspaces.lay_out(session_id, resource)
        return resource

    async def take_back(self, session_id: str, resource_id: str) -> Deleted:
        resource = await self.resources.retrieve(session_id, resource_id)
        deleted = await self.resources.delete(session_id, resource_id)
        await self.workspaces.take_back(session_id, resource)
        return deleted
