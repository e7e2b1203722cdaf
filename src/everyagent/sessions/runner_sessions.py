"""Finds the runner of a session, and makes its actor. The rest of the code for runners is loaded at the first use."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from everyagent.agents.adapter import Adapter
from everyagent.clock import Clock, SystemClock
from everyagent.errors import SessionNotFound, UnsupportedChoice
from everyagent.log.log import Input, SessionRecord
from everyagent.log.records import Records
from everyagent.model.runners import RunnerInfo
from everyagent.model.sessions import CreateSession
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.sessions.machine.projection import Projection

if TYPE_CHECKING:
    from everyagent.remote.keys import RunnerId
    from everyagent.remote.runners import Runners
    from everyagent.sessions.loading import Past
    from everyagent.sessions.remote_actor import RemoteActor
    from everyagent.sessions.session_context import SessionContext


class RunnerSessions:
    """Without a `vault` for their keys there are no runners, as in tests of sessions alone.

    `lease` is the time in seconds for which a runner may be disconnected.
    """

    def __init__(
        self,
        records: Records | None = None,
        vault: SecretVault | None = None,
        lease: float = 0.0,
        clock: Clock | None = None,
        session_of: Callable[[str], Awaitable[SessionRecord]] | None = None,
    ) -> None:
        self._records = records
        self._vault = vault
        self._lease = lease
        self._clock = clock or SystemClock()
        self._session_of = session_of
        self._loaded: Runners | None = None

    @property
    def runners(self) -> "Runners":
        if self._loaded is None:
            if self._records is None or self._vault is None:
                raise UnsupportedChoice("This server has no runners. Leave `runner` out.", field="runner")
            from everyagent.remote.keys import RunnerKeys
            from everyagent.remote.runners import Runners

            keys = RunnerKeys(self._records, self._vault.seal, self._vault.unseal)
            self._loaded = Runners(keys, self._clock, self._lease, self._over)
        return self._loaded

    def forget(self, record: SessionRecord) -> None:
        """The session has ended: nothing of it stays on its runner."""
        runner = config_of(record).runner
        if self._loaded is not None and runner is not None:
            from everyagent.remote.keys import RunnerId

            self._loaded.forget(RunnerId(record.workspace, runner), record.session_id)

    async def _over(self, runner: "RunnerId", session_id: str) -> bool:
        if self._session_of is None:
            return False
        try:
            record = await self._session_of(session_id)
        except SessionNotFound:
            return True
        return record.status == "ended" or (record.workspace, config_of(record).runner) != runner

    def infos(self) -> list[RunnerInfo]:
        """The runners that the principal sees."""
        return [] if self._loaded is None else self._loaded.infos()

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded.close()

    def chosen(self, request: CreateSession, agent: str) -> str | None:
        """The name of the runner of a new session. Raises `Unavailable` if none is connected that fits."""
        if request.runner is None:
            return None
        return self.runners.chosen(request.runner, agent)

    def actor(
        self,
        record: SessionRecord,
        adapter: Adapter,
        context: "SessionContext",
        queue: Sequence[Input],
        past: "Past",
        projection: Projection | None,
        *,
        resumes: bool,
    ) -> "RemoteActor":
        """With `resumes`, it goes on with the conversation that was open when an earlier daemon ended."""
        from everyagent.remote.adapter import RemoteAdapter
        from everyagent.remote.keys import RunnerId
        from everyagent.sessions.remote_actor import RemoteActor

        config = config_of(record)
        remote = RemoteAdapter(adapter, self.runners, RunnerId(record.workspace, config.runner or ""))
        actor = RemoteActor(record, remote, context, queue, past, projection)
        if resumes and record.live and config.runner_mark:
            actor.resume(partial(remote.attach, record.session_id, config.runner_mark))
        return actor
