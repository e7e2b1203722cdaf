"""Makes the launch of an agent: everything that it needs to start or resume a session."""

import hashlib
import hmac
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from secrets import token_urlsafe

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import ALWAYS_HOOKED, GitFolders, Launch, joined_instructions
from everyagent.errors import VaultError
from everyagent.git.worktree import Worktree, branch_folders
from everyagent.log.intact_events import intact_events
from everyagent.log.log import EventQuery, Input, Log, SessionRecord
from everyagent.logs import get_logger
from everyagent.masking.live import watch
from everyagent.masking.masker import Masker
from everyagent.model.decoding import decode_event
from everyagent.model.events import TYPE_NUMBERS, ItemCompleted, ItemStarted
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.model.policies import UNRESTRICTED
from everyagent.runtime.limits import ProcessLimits
from everyagent.sessions.history.transcript import AnyEntry, Transcriber, as_seed
from everyagent.sessions.launch import named_callers
from everyagent.sessions.launch.agent_limits import at_start
from everyagent.sessions.launch.config import SessionConfig, SessionSecrets, config_of
from everyagent.sessions.launch.isolation import IsolationPolicy
from everyagent.sessions.launch.known_secrets import session_secrets
from everyagent.sessions.launch.scratch import ScratchFolders
from everyagent.sessions.launch.secrets import SecretVault, is_sealed

DEFAULT_ISOLATION = IsolationPolicy()
_SEED_EVENTS = frozenset(TYPE_NUMBERS[data.type] for data in (ItemStarted, ItemCompleted))
#: The newest entries that are read for a seed, which has room for far fewer.
_SEED_ENTRIES = 1000
logger = get_logger(__name__)


class Launcher:
    """`url` is the daemon's address for agents, at which it serves their sessions' custom tools.
    `public_url` is its address for other machines, if it has one: agents may use its MCP server at either.

    `own_secrets` are the daemon's, which no agent is given: they are masked in sessions without a wall, whose agents
    may read them from a file. `environment` are secrets of the daemon's environment, which agents may be given.
    """

    def __init__(
        self,
        log: Log,
        vault: SecretVault,
        scratch: ScratchFolders,
        url: str | None,
        own_secrets: Mapping[bytes, str],
        environment: Mapping[bytes, str],
        isolation: IsolationPolicy = DEFAULT_ISOLATION,
        limits: AgentLimits = NO_LIMITS,
        public_url: str | None = None,
    ) -> None:
        self._walled = watch(Masker(environment))
        self._own = watch(Masker({**vault.own_secrets(), **own_secrets, **environment}))
        self._log = log
        self._vault = vault
        self.scratch = scratch
        self._url = url
        self._urls = [each for each in (url, public_url) if each]
        self._isolation = isolation
        self._limits = limits

    async def launch_for(self, record: SessionRecord) -> Launch:
        config = config_of(record)
        secrets = self.secrets_of(record)
        tools = [*config.tools, *config.own_tools]
        offered = bool(tools and self._url)
        hooked = record.agent in ALWAYS_HOOKED or config.tool_policies != UNRESTRICTED
        fresh = record.native_session_id is None and record.last_sequence > 0
        scratch = self.scratch.make(record.number)
        limits = at_start(config.limits, self._limits)
        isolation = "none" if config.runner else await self._isolation.at_start(config.isolation)
        return Launch(
            session_id=record.session_id,
            directory=Path(config.directory),
            scratch=scratch,
            permission_mode=record.permission_mode,
            agent_mode=record.agent_mode,
            model=record.model,
            variant=record.variant,
            system_prompt=joined_instructions(secrets.system_prompt or config.system_prompt, *config.system_messages),
            title=record.title,
            env=secrets.env,
            mcp=named_callers.named(secrets.mcp, record.session_id, self._urls),
            secrets=secrets.named,
            tools=tools,
            tools_url=f"{self._url}/v1/sessions/{record.session_id}/mcp" if offered else None,
            tools_token=self.tools_token(record.session_id) if offered else None,
            hook_token=token_urlsafe(32) if hooked else None,
            policies=config.tool_policies,
            hosts=None if config.allowed_hosts is None else tuple(config.allowed_hosts),
            isolation=isolation,
            containers=self._isolation.containers if isolation == "container" else None,
            limits=ProcessLimits(limits, (Path(config.directory), scratch) if limits.disk else ()),
            hidden=(self.scratch.data_folder,),
            confined_to=None if config.confined_to is None else Path(config.confined_to),
            git=None if config.worktree is None else _git_folders(config.worktree),
            native_session_id=record.native_session_id,
            seed=await self._seed(record) if fresh else None,
        )

    def secrets_of(self, record: SessionRecord) -> SessionSecrets:
        if record.secrets is None:
            return SessionSecrets()
        return msgspec.json.decode(self._vault.unseal(record.secrets, record.session_id), type=SessionSecrets)

    def masker(self, secrets: SessionSecrets, config: SessionConfig) -> Masker:
        """All sessions of a level that have no secrets share one."""
        found = session_secrets(secrets.env, secrets.mcp, secrets.named)
        own = self._own if config.isolation in (None, "none") else self._walled
        return Masker({**found, **own.secrets}) if found else own

    def masker_of(self, record: SessionRecord) -> Masker:
        """A session whose secrets cannot be opened can be read, but its agent cannot be started."""
        try:
            return self.masker(self.secrets_of(record), config_of(record))
        except VaultError as error:
            logger.warning("secrets cannot be opened", session=record.session_id, error=str(error))
            return self._own

    def seal_input(self, masker: Masker, input: Input, session_id: str) -> Input:
        """A message that waits is stored encrypted if it has a secret in it: its agent must get it as it is."""
        if masker.mask(input.body) is input.body:
            return input
        return replace(input, body=self._vault.seal(input.body, session_id))

    def open_input(self, input: Input, session_id: str) -> Input:
        return replace(input, body=self._vault.unseal(input.body, session_id)) if is_sealed(input.body) else input

    def seal(self, secrets: SessionSecrets, session_id: str) -> bytes | None:
        if secrets == SessionSecrets():
            return None
        return self._vault.seal(msgspec.json.encode(secrets), session_id)

    def tools_token(self, session_id: str) -> str:
        """A token for this session's custom tools only; an agent never sees the daemon's own token."""
        return hmac.new(self._vault.derived(b"tools"), session_id.encode(), hashlib.sha256).hexdigest()

    async def _seed(self, record: SessionRecord) -> str | None:
        """The transcript, for an agent that has no history of this session."""
        before, rewound = record.open_turn or record.last_sequence + 1, config_of(record).rewound
        transcriber = Transcriber()
        entries: deque[AnyEntry] = deque(maxlen=_SEED_ENTRIES)
        query = EventQuery(session=record.number, limit=500, types=_SEED_EVENTS)
        async for stored in intact_events(self._log, query):
            at = stored.sequence
            if at < before and not any(after < at <= until for after, until in rewound):
                entries.extend(transcriber.feed(decode_event(stored.body)))
        entries.extend(transcriber.finish())
        return as_seed(entries) if entries else None


def _git_folders(worktree: Worktree) -> GitFolders:
    """Files, commits and branches of the worktree, and nothing that other checkouts run or read as settings."""
    common = Path(worktree.common)
    folders = (Path(worktree.folder), Path(worktree.own), common / "objects")
    return GitFolders(common=common, writable=(*folders, *branch_folders(worktree)))
