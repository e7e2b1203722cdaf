"""Loads the projections of managed sessions, prepares their agents' launch, and synchronizes their memory."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Launch
from everyagent.errors import EveryagentError, SessionNotFound
from everyagent.log.log import SessionRecord
from everyagent.logs import get_logger
from everyagent.managed.managed import Managed
from everyagent.managed.projection.commands import CommandFrame, Troubled
from everyagent.managed.projection.events import Retrying, SessionFailure
from everyagent.managed.projection.projector import Projector
from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.managed.resources.environments.networking import limited
from everyagent.managed.resources.environments.shape import Environment
from everyagent.managed.roster.members import members_of, roster_note
from everyagent.managed.sessions.presentation import document_of
from everyagent.managed.workspace.workspace import Prepared
from everyagent.model.asks import ToolAnswer
from everyagent.model.parts import Json
from everyagent.model.principals import EventActor
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.projection import Projection

_UNLIMITED = "The network of this session is not limited: its commands reach what the daemon's machine reaches."
_CLOSED = "The environment's network does not reach this server. Allow its host, or set `allow_mcp_servers`."
_RETRYING = Retrying(type="retrying")
logger = get_logger(__name__)


class ManagedProjections:
    """The `Projections` of a daemon."""

    def __init__(self, managed: Managed) -> None:
        self._managed = managed
        self._projected = managed.sessions.projected

    async def open(self, record: SessionRecord) -> Projector | None:
        try:
            found = await self._projected.log.projection(record.session_id)
        except SessionNotFound:
            return None
        return Projector(record.session_id, found.state, found.document)

    async def launch(self, record: SessionRecord, launch: Launch) -> Launch:
        """Adds the workspace's current folder, variables and MCP servers: credentials may have been renewed.

        A thread of a roster shares its coordinator's folder and vaults.
        """
        document = document_of(await self._projected.log.projection(record.session_id))
        environment = msgspec.convert(document.environment, Environment)
        owner, vault_ids = record.session_id, document.vault_ids
        if document.thread_of is not None:
            owner = document.thread_of.session
            vault_ids = document_of(await self._projected.log.projection(owner)).vault_ids
        prepared = await self._managed.workspaces.prepare(
            owner,
            msgspec.convert({"multiagent": None, **document.agent}, SessionAgent),
            environment,
            vault_ids,
        )
        if limited(environment.config) and launch.hosts is None:
            prepared = replace(prepared, problems=[*prepared.problems, _UNLIMITED])
        await self._report(record.session_id, _failures(prepared))
        members = members_of(document.agent)
        prompts = (launch.system_prompt, roster_note(members) if members else "", prepared.note)
        return replace(
            launch,
            directory=prepared.directory,
            env={**launch.env, **prepared.env},
            packages=tuple(prepared.packages),
            mcp={**launch.mcp, **prepared.mcp},
            secrets={**launch.secrets, **prepared.secrets},
            system_prompt="\n\n".join(text for text in prompts if text),
        )

    async def turn_begins(self, projection: Projection, session_id: str) -> None:
        """Queues work for a self-hosted environment, or synchronizes the memory stores."""
        assert isinstance(projection, Projector)
        document = projection.document
        if document.thread_of is not None:
            self._managed.reports.follow(document.thread_of)
        if document.self_hosted:
            owner = document.thread_of.session if document.thread_of else session_id
            await self._managed.queue.turn_begins(document.environment_id, owner)
        elif document.thread_of is None:
            await self._sync(session_id, self._managed.mounts.turn_begins)

    async def turn_over(self, session_id: str) -> None:
        projection = await self._projected.log.projection(session_id)
        document = document_of(projection)
        if document.thread_of is not None:
            return
        await self._managed.roster.turn_over(session_id)
        if projection.status == "terminated":
            await self._managed.roster.ended(session_id)
        if not document.self_hosted:
            await self._sync(session_id, self._managed.mounts.turn_over)
        await self._managed.judge.turn_over(session_id)

    async def run_tool(self, record: SessionRecord, payer: EventActor | None, name: str, input: Json) -> ToolAnswer:
        """`call_agents` is the one tool."""
        return await self._managed.roster.run(record, payer, input)

    async def ended(self, session_id: str) -> None:
        await self._managed.roster.ended(session_id)

    async def going(self, session_id: str) -> None:
        """Before a session is deleted: synchronizes its memory stores, then removes its workspace.

        A thread of a roster has neither; it is reported as terminated.
        """
        try:
            document = document_of(await self._projected.log.projection(session_id))
        except SessionNotFound:
            return  # a universal session
        if document.thread_of is not None:
            self._managed.reports.follow(document.thread_of)
            return
        await self._managed.roster.ended(session_id, deleted=True)
        if not document.self_hosted:
            await self._managed.mounts.last(session_id)
        await self._managed.workspaces.remove(session_id)

    async def _sync(self, session_id: str, sync: Callable[[str], Awaitable[Sequence[str]]]) -> None:
        """Reports problems to the session, which continues in any case."""
        try:
            await self._report(session_id, [_failure(each) for each in await sync(session_id)])
        except EveryagentError as error:
            logger.warning("could not synchronize memory stores", session=session_id, why=str(error))

    async def _report(self, session_id: str, errors: Sequence[SessionFailure]) -> None:
        if errors:
            cause = msgspec.json.encode(CommandFrame(managed=Troubled(errors=[*errors])))
            await self._projected.submit(session_id, lambda _: Batch(frame=cause, direction="daemon"))


def _failure(message: str) -> SessionFailure:
    return SessionFailure(type="unknown_error", message=message, retry_status=_RETRYING)


def _failures(prepared: Prepared) -> list[SessionFailure]:
    return [
        *(_failure(each) for each in prepared.problems),
        *(
            SessionFailure(
                type=each.type, message=each.message, repository_url=each.repository_url, retry_status=_RETRYING
            )
            for each in prepared.repositories
        ),
        *(
            SessionFailure(
                type="mcp_connection_failed_error", message=_CLOSED, mcp_server_name=name, retry_status=_RETRYING
            )
            for name in prepared.unreached
        ),
    ]
