"""Makes the launch of an agent: everything that it needs to start or resume a session."""

import hashlib
import hmac
from collections import deque
from pathlib import Path

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Launch
from everyagent.log.log import EventQuery, Log, SessionRecord
from everyagent.model.decoding import decode_event
from everyagent.model.events import TYPE_NUMBERS, ItemCompleted
from everyagent.sessions.history.transcript import AnyEntry, Transcriber, as_seed
from everyagent.sessions.launch.config import SessionSecrets, config_of
from everyagent.sessions.launch.secrets import SecretVault

_SEED_EVENTS = frozenset((TYPE_NUMBERS[ItemCompleted.type],))
#: The newest entries that are read for a seed, which has room for far fewer.
_SEED_ENTRIES = 1000


class Launcher:
    """`url` is the daemon's address for agents, at which it serves their sessions' custom tools."""

    def __init__(self, log: Log, vault: SecretVault, scratch: Path, url: str | None) -> None:
        self._log = log
        self._vault = vault
        self._scratch = scratch
        self._url = url

    async def launch_for(self, record: SessionRecord) -> Launch:
        config = config_of(record)
        secrets = self.secrets_of(record)
        scratch = self._scratch / str(record.number)
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        offered = bool(config.tools and self._url)
        fresh = record.native_session_id is None and record.last_sequence > 0
        return Launch(
            session_id=record.session_id,
            directory=Path(config.directory),
            scratch=scratch,
            permission_mode=record.permission_mode,
            agent_mode=record.agent_mode,
            model=record.model,
            variant=record.variant,
            system_prompt=config.system_prompt,
            title=record.title,
            env=secrets.env,
            mcp=secrets.mcp,
            tools=config.tools,
            tools_url=f"{self._url}/v1/sessions/{record.session_id}/mcp" if offered else None,
            tools_token=self.tools_token(record.session_id) if offered else None,
            policies=config.tool_policies,
            hosts=None if config.allowed_hosts is None else tuple(config.allowed_hosts),
            native_session_id=record.native_session_id,
            seed=await self._seed(record) if fresh else None,
        )

    def secrets_of(self, record: SessionRecord) -> SessionSecrets:
        if record.secrets is None:
            return SessionSecrets()
        return msgspec.json.decode(self._vault.unseal(record.secrets, record.session_id), type=SessionSecrets)

    def seal(self, secrets: SessionSecrets, session_id: str) -> bytes | None:
        if not secrets.env and not secrets.mcp:
            return None
        return self._vault.seal(msgspec.json.encode(secrets), session_id)

    def tools_token(self, session_id: str) -> str:
        """A token for this session's custom tools only; an agent never sees the daemon's own token."""
        return hmac.new(self._vault.derived(b"tools"), session_id.encode(), hashlib.sha256).hexdigest()

    async def _seed(self, record: SessionRecord) -> str | None:
        """The transcript, for an agent that has no history of this session."""
        before = record.open_turn or record.last_sequence + 1
        transcriber = Transcriber()
        entries: deque[AnyEntry] = deque(maxlen=_SEED_ENTRIES)
        query = EventQuery(session=record.number, limit=500, types=_SEED_EVENTS)
        while True:
            page = await self._log.events(query)
            for stored in page.events:
                if stored.sequence < before:
                    entries.extend(transcriber.feed(decode_event(stored.body)))
            if not page.more:
                break
            query = replace(query, after=page.events[-1].sequence)
        entries.extend(transcriber.finish())
        return as_seed(entries) if entries else None
