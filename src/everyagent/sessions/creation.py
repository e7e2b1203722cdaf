"""Creates sessions, and forks them from others."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.errors import BadRequest, OffsetOutOfRange
from everyagent.log.log import Append, EventQuery, Log, Receipt, SessionRecord
from everyagent.log.projections import NewProjection
from everyagent.masking.masker import Masker
from everyagent.model.events import SessionStarted
from everyagent.model.ids import new_id
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.model.parts import Json
from everyagent.model.prices import UNPRICED, Prices
from everyagent.model.principals import current, current_actor
from everyagent.model.sessions import CreateSession, ForkOrigin, ForkSession, SessionInfo
from everyagent.model.tools import CustomTool, McpLocal
from everyagent.sessions.history.fork import Fork
from everyagent.sessions.history.info import info_of
from everyagent.sessions.launch.agent_limits import permitted
from everyagent.sessions.launch.agents import Agents, Choice, choose
from everyagent.sessions.launch.allowed_hosts import keepable
from everyagent.sessions.launch.config import AnsweredIds, SessionConfig, SessionSecrets, config_of
from everyagent.sessions.launch.isolation import IsolationPolicy, on_runner
from everyagent.sessions.launch.known_costs import require_known_costs
from everyagent.sessions.launch.known_secrets import MIN_CHARS
from everyagent.sessions.launch.launcher import DEFAULT_ISOLATION, Launcher
from everyagent.sessions.launch.secrets import redacted
from everyagent.sessions.launch.tool_policies import enforceable
from everyagent.sessions.machine.sequencer import Emission
from everyagent.sessions.machine.session_mask import masked_data
from everyagent.sessions.machine.transaction import LogPosition, Transaction
from everyagent.sessions.refusals import too_many_sessions
from everyagent.sessions.runner_sessions import RunnerSessions
from everyagent.sessions.worktrees import Worktrees

_SESSION_ID = re.compile(r"[A-Za-z0-9._~:-]{1,128}")
#: Events that a worker thread encodes at a time for a fork.
FORK_SLICE = 1000
InfoReceipt = Callable[[SessionInfo], Receipt]
#: The receipt that is stored with a new session, made from its row.
RecordReceipt = Callable[[SessionRecord], Receipt | None]


class Creation:
    def __init__(
        self,
        *,
        log: Log,
        agents: Agents,
        launcher: Launcher,
        worktrees: Worktrees,
        clock: Clock,
        default_agent: str,
        directory: Path,
        key_directory: Path,
        isolation: IsolationPolicy = DEFAULT_ISOLATION,
        limits: AgentLimits = NO_LIMITS,
        max_sessions: int = 0,
        runners: RunnerSessions | None = None,
        prices: Prices = UNPRICED,
        node: str | None = None,
    ) -> None:
        """`node` is the name of this node of a cluster."""
        self._node = node
        self._worktrees = worktrees
        self._prices = prices
        self._runners = runners or RunnerSessions()
        self._log = log
        self._agents = agents
        self._launcher = launcher
        self._clock = clock
        self._default_agent = default_agent
        self._default_directory = directory
        self._key_directory = key_directory
        self._isolation = isolation
        self._limits = limits
        self._max_sessions = max_sessions
        self._writing = asyncio.Lock()

    async def create(
        self,
        session_id: str | None,
        request: CreateSession,
        receipt: RecordReceipt | None,
        projection: NewProjection | None = None,
        own_tools: Sequence[CustomTool] = (),
    ) -> SessionInfo:
        agent = request.agent or self._default_agent
        adapter = self._agents.adapter(agent)
        catalog = await adapter.catalog()
        choice = choose(
            catalog,
            model=request.model,
            variant=request.variant,
            agent_mode=request.agent_mode,
            permission_mode=request.permission_mode,
        )
        if request.budget_usd is not None:
            require_known_costs(adapter, catalog, choice.model, self._prices, "budgetUsd")
        runner = self._runners.chosen(request, agent)
        asked = request.isolation
        isolation = await self._isolation.chosen(asked) if runner is None else on_runner(asked)
        config = SessionConfig(
            directory=self._directory(request.directory) if runner is None else request.directory or "",
            system_prompt=request.system_prompt,
            tools=request.tools,
            own_tools=[*own_tools],
            tool_policies=enforceable(request.tool_policies, adapter, catalog, request.tools),
            allowed_hosts=await keepable(
                request.allowed_hosts, choice.permission_mode, adapter.title, catalog, isolation
            ),
            isolation=isolation,
            lifetime=request.lifetime,
            limits=permitted(request.limits, self._limits),
            turn_timeout=request.turn_timeout,
            ask_timeout=request.ask_timeout,
            budget_usd=request.budget_usd,
            budget_tokens=request.budget_tokens,
            checkpoints=request.checkpoints,
            env=sorted({**_checked_variables(request), **_checked_secrets(request)}),
            mcp=redacted(request.mcp),
            runner=runner,
            confined_to=self._confinement(),
            node=self._node if runner is None and projection is None else None,
        )
        secrets = SessionSecrets(
            env={**request.env, **request.secrets}, secrets=sorted(request.secrets), mcp=request.mcp
        )
        masker = self._launcher.masker(secrets, config)
        config, secrets = _masked(config, secrets, masker)
        session_id = _checked_id(session_id)
        if runner is not None:
            _require_none_of_this_machine(request)
        made = None
        if request.worktree:
            made, directory = await self._worktrees.make(session_id, config.directory)
            config = replace(config, directory=directory, worktree=made)
        record = self._record(session_id, agent, choice, config, secrets)
        record = replace(
            record,
            title=None if request.title is None else masker.mask_text(request.title),
            metadata={masker.mask_text(key): masker.mask_text(value) for key, value in request.metadata.items()},
        )
        cause: dict[str, object] = {"request": "create", "agent": agent, "config": config}
        if projection is not None:
            cause["view"] = msgspec.Raw(projection.document)
        transaction = Transaction(LogPosition(record), self._clock.micros(), masker=masker)
        transaction.begin_frame("from_client", msgspec.json.encode(cause), actor=current_actor())
        transaction.emit([Emission(SessionStarted(metadata=_started(agent, choice)), True)])
        async with self._worktrees.unless_failed(made):
            return await self._write(record, transaction.finish(), receipt, projection)

    async def fork(self, session_id: str, request: ForkSession, receipt: RecordReceipt | None) -> SessionInfo:
        """A new session with this one's past up to a sequence; its agent is seeded with the transcript."""
        origin = await self._log.session(session_id)
        head = origin.last_sequence
        cut = head if request.sequence is None else request.sequence
        if not 1 <= cut <= head:
            raise OffsetOutOfRange(f"This session's events are 1 to {head}; it cannot be forked at {cut}.", head=head)
        agent = request.agent or origin.agent
        same = agent == origin.agent
        adapter = self._agents.adapter(agent)
        catalog = await adapter.catalog()
        choice = choose(
            catalog,
            model=request.model or (origin.model if same else None),
            variant=origin.variant if same and not request.model else None,
            agent_mode=origin.agent_mode if same else None,
            permission_mode=origin.permission_mode if same else None,
        )
        forked_from = ForkOrigin(session_id=session_id, sequence=cut)
        config = replace(
            config_of(origin),
            own_tools=[],
            forked_from=forked_from,
            lifetime="open",
            answered=AnsweredIds(),
            runner_mark=None,
        )
        config = replace(
            config,
            confined_to=self._confinement() or config.confined_to,
            rewound=[(after, min(until, cut)) for after, until in config.rewound],
        )
        enforceable(config.tool_policies, adapter, catalog, config.tools)
        await keepable(config.allowed_hosts, choice.permission_mode, adapter.title, catalog, config.isolation)
        secrets = self._launcher.secrets_of(origin)
        new_id, made = _checked_id(request.session_id), None
        if config.worktree is not None:
            made, directory = await self._worktrees.copy(new_id, config)
            config = replace(config, directory=directory, worktree=made, node=self._node)
        record = self._record(new_id, agent, choice, config, secrets)
        masker = self._launcher.masker(secrets, config)
        title = origin.title if request.title is None else masker.mask_text(request.title)
        record = replace(record, title=title, topic=origin.topic, metadata=origin.metadata)
        metadata = _started(agent, choice)
        metadata["forked_from"] = {"session_id": session_id, "sequence": cut}
        cause = msgspec.json.encode({"request": "fork", "session_id": session_id, "sequence": cut})
        fork = Fork(record, metadata, cause, self._clock, masker)
        async with self._worktrees.unless_failed(made):
            return await self._write(record, await self._forked(origin.number, cut, fork), receipt)

    async def _forked(self, session: int, cut: int, fork: Fork) -> Append:
        """Encoded in slices by worker threads: a long past would stop the event loop for seconds."""
        after, more = 0, True
        while more and after < cut:
            limit = min(FORK_SLICE, cut - after)
            page = await self._log.events(EventQuery(session=session, after=after, limit=limit))
            more = await asyncio.to_thread(fork.add, page.events)
            after = page.events[-1].sequence
        return await asyncio.to_thread(fork.finish)

    async def _write(
        self,
        record: SessionRecord,
        append: Append,
        receipt: RecordReceipt | None,
        projection: NewProjection | None = None,
    ) -> SessionInfo:
        head, frame = append.events[-1].sequence, append.frames[-1].number
        record = replace(record, last_sequence=head, last_frame=frame, last_at=append.at)
        made = receipt(record) if receipt else None
        if not self._max_sessions:
            await self._log.create(record, append.events, append.frames, made, projection)
            return info_of(record)
        async with self._writing:
            if await self._log.open_sessions() >= self._max_sessions:
                raise too_many_sessions(self._max_sessions)
            await self._log.create(record, append.events, append.frames, made, projection)
        return info_of(record)

    def _record(
        self, session_id: str, agent: str, choice: Choice, config: SessionConfig, secrets: SessionSecrets
    ) -> SessionRecord:
        now = self._clock.micros()
        return SessionRecord(
            number=0,
            session_id=session_id,
            agent=agent,
            created_at=now,
            updated_at=now,
            config=msgspec.json.encode(config),
            secrets=self._launcher.seal(secrets, session_id),
            agent_mode=choice.agent_mode,
            permission_mode=choice.permission_mode,
            model=choice.model,
            variant=choice.variant,
        )

    def _confinement(self) -> str | None:
        return str(self._key_directory.resolve()) if current().limited else None

    def _directory(self, asked: str | None) -> str:
        directory = Path(asked).expanduser() if asked else self._default_directory
        if not directory.is_absolute():
            raise BadRequest(f"`directory` must be an absolute path; {asked!r} is not.", field="directory")
        if "\0" in str(directory) or not directory.is_dir() or not os.access(directory, os.R_OK | os.X_OK):
            raise BadRequest(
                f"There is no directory {str(directory)!r} on the daemon's machine that it may use.", field="directory"
            )
        return str(directory.resolve())


def with_info(receipt: InfoReceipt | None) -> RecordReceipt | None:
    return None if receipt is None else lambda record: receipt(info_of(record))


def _require_none_of_this_machine(request: CreateSession) -> None:
    """On a runner, the session's directory is on another machine: here, its path may name any folder."""
    for field, given in (("worktree", request.worktree), ("checkpoints", request.checkpoints)):
        if given:
            raise BadRequest(f"A session on a runner cannot have `{field}`. Leave one of both out.", field=field)


def _checked_id(session_id: str | None) -> str:
    if session_id is None:
        return new_id("sess_")
    if not _SESSION_ID.fullmatch(session_id) or session_id in (".", ".."):
        raise BadRequest(
            "A session id is 1 to 128 letters, digits or any of `._~:-`, and neither `.` nor `..`. "
            "Choose another, or leave it out: then one is made.",
            field="sessionId",
        )
    return session_id


def _checked_variables(request: CreateSession) -> dict[str, str]:
    """The session's own variables. Raises `BadRequest` if one of them, or one of an MCP server, cannot be set."""
    given = [("env", request.env), ("secrets", request.secrets)]
    given += [("mcp", server.env) for server in request.mcp.values() if isinstance(server, McpLocal)]
    for field, variables in given:
        for name, value in variables.items():
            if not name or "=" in name or "\0" in name + value:
                raise BadRequest(
                    f"{name!r} cannot be a variable: a name is not empty and has no `=`, and neither the name nor the "
                    "value has a NUL character.",
                    field=field,
                )
    return request.env


def _checked_secrets(request: CreateSession) -> dict[str, str]:
    for name, value in request.secrets.items():
        if name in request.env:
            raise BadRequest(f"{name!r} is in `env` and in `secrets`. Give it once.", field="secrets")
        if len(value.strip()) < MIN_CHARS:
            raise BadRequest(
                f"The secret {name!r} is shorter than {MIN_CHARS} characters: masking it would hide other text, too. "
                "Use a longer one, or give it in `env`.",
                field="secrets",
            )
    return request.secrets


def _masked(config: SessionConfig, secrets: SessionSecrets, masker: Masker) -> tuple[SessionConfig, SessionSecrets]:
    """A configuration without secrets. A system prompt that had one is kept as it is among the secrets."""
    shown = masked_data(masker, config)
    if shown is config:
        return config, secrets
    shown = replace(shown, directory=config.directory)
    return shown, replace(secrets, system_prompt=config.system_prompt)


def _started(agent: str, choice: Choice) -> dict[str, Json]:
    return {
        "agent": agent,
        "agent_mode": choice.agent_mode,
        "permission_mode": choice.permission_mode,
        "model": choice.model,
        "variant": choice.variant,
    }
