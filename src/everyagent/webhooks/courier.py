"""Delivers to one endpoint, from its cursor on: one message at a time, again until it is accepted."""

import math
import random
import time
from collections.abc import Callable
from typing import Final

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.clock import Clock
from everyagent.errors import (
    EveryagentError,
    NotFound,
    OffsetOutOfRange,
    RecordChanged,
    RecordNotFound,
    SessionNotFound,
)
from everyagent.log.chunk import EventChunk
from everyagent.log.log import Log, StoredEvent
from everyagent.log.pending_audit import set_pending
from everyagent.logs import get_logger
from everyagent.model.principals import acting_in
from everyagent.model.webhooks import Delivery
from everyagent.webhooks.answer_links import AnswerLinks
from everyagent.webhooks.messages import SessionFacts, WebhookMessage, cause_numbers, logged, messages, wanted
from everyagent.webhooks.sender import WebhookSender
from everyagent.webhooks.store import AFTER_ALL, Endpoint, EndpointStore, Progress

#: After so many commits without a message, the cursor is stored anyway, so that a restart need not read them again.
_KEEP_COMMITS: Final = 5_000
#: The pause before the database is tried again, or before another node's work is looked at.
_RETRY_SECONDS: Final = 3.0
_GONE: Final = 410
logger = get_logger(__name__)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Seconds. The delay doubles with each failure, up to `longest`, and is shortened by up to a half at random."""

    first: float = 1.0
    longest: float = 600.0
    pause_after: float = 86_400.0

    def delay(self, failures: int) -> float:
        return min(self.longest, self.first * 2.0 ** min(failures - 1, 30)) * random.uniform(0.5, 1.0)


class Courier:
    """`mine` says whether this node delivers to an endpoint; `shared`, whether other nodes may change it.

    The log is read as the endpoint's workspace sees it.
    """

    def __init__(
        self,
        webhook_id: str,
        workspace: str,
        *,
        log: Log,
        store: EndpointStore,
        sender: WebhookSender,
        links: AnswerLinks,
        policy: RetryPolicy,
        clock: Clock,
        mine: Callable[[str], bool],
        shared: bool,
    ) -> None:
        self._id = webhook_id
        self._workspace = workspace
        self._log = log
        self._store = store
        self._sender = sender
        self._links = links
        self._policy = policy
        self._clock = clock
        self._mine = mine
        self._shared = shared
        self._looked_at = 0.0
        self._round = anyio.CancelScope()
        self._version = 0
        self._secret = b""
        self._progress = Progress(commit=0, sequence=0)
        self._ended = False

    def changed(self, *, ended: bool = False) -> None:
        """The endpoint was changed or removed: what it is now counts at once."""
        self._ended = self._ended or ended
        self._round.cancel()

    async def run(self) -> None:
        """Until the endpoint is removed."""
        set_pending(None)  # the task may have been started by a request
        with acting_in(self._workspace):
            try:
                while not self._ended:
                    self._round = anyio.CancelScope()
                    with self._round:
                        await self._guarded_round()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._sender.close()

    async def _guarded_round(self) -> None:
        try:
            await self._deliver()
        except (NotFound, RecordNotFound):
            self._ended = True
        except RecordChanged:  # by a request, or by another node
            return
        except EveryagentError as error:
            logger.warning("webhooks wait, and are tried again", webhook=self._id, why=error.detail)
            await anyio.sleep(_RETRY_SECONDS)
        except Exception:
            logger.exception("the delivery of webhooks failed, and is tried again", webhook=self._id)
            await anyio.sleep(_RETRY_SECONDS)

    async def _deliver(self) -> None:
        endpoint = await self._store.find(self._id)
        self._progress, self._version = endpoint.progress, endpoint.progress_version
        if self._progress.paused_at is not None:
            await anyio.sleep(_RETRY_SECONDS if self._shared else math.inf)
            return
        if not self._mine(self._id):
            await anyio.sleep(_RETRY_SECONDS)
            return
        self._secret = self._store.secret(endpoint)
        causes = cause_numbers(endpoint.body.events)
        try:
            async for chunk in self._log.feed(self._progress.position):
                if not self._mine(self._id) or await self._changed_elsewhere(endpoint):
                    return
                if chunk is None:
                    continue
                for event in chunk.events:
                    if event.type in causes and not await self._event(endpoint, chunk, event):
                        return
                seen = replace(self._progress, commit=chunk.commit, sequence=chunk.last)
                if seen.commit - self._progress.commit >= _KEEP_COMMITS:
                    await self._keep(seen)
        except OffsetOutOfRange:
            logger.error("the log is older than a webhook's cursor: it continues from now on", webhook=self._id)
            await self._keep(replace(self._progress, commit=self._log.last_commit, sequence=AFTER_ALL))

    async def _changed_elsewhere(self, endpoint: Endpoint) -> bool:
        """Whether another node has changed the endpoint."""
        if not self._shared or time.monotonic() - self._looked_at < _RETRY_SECONDS:
            return False
        self._looked_at = time.monotonic()
        found = await self._store.find(self._id)
        return (found.body, found.progress_version) != (endpoint.body, self._version)

    async def _event(self, endpoint: Endpoint, chunk: EventChunk, event: StoredEvent) -> bool:
        """Delivers the messages of an event. False if the endpoint was paused."""
        try:
            found = logged(event.body)
            types = wanted(found, endpoint.body.events)
        except msgspec.DecodeError:
            logger.exception("an event makes no webhook", session=chunk.session, sequence=event.sequence)
            return True
        if not types:
            return True
        try:
            record = await self._log.session_by_number(chunk.session)
        except SessionNotFound:  # deleted meanwhile
            return True
        facts = SessionFacts(agent=record.agent, title=record.shown_title, workspace=record.workspace)
        answer_url = self._links.url(endpoint.id, found.session_id) if endpoint.body.answer_links else None
        made = messages(found, types, facts, answer_url)
        for number, message in enumerate(made, 1):
            cursor = f"{chunk.commit}.{event.sequence}"
            if not await self._message(endpoint, message, cursor, last=number == len(made)):
                return False
        return True

    async def _message(self, endpoint: Endpoint, message: WebhookMessage, cursor: str, *, last: bool) -> bool:
        """Sends until it is accepted. The cursor moves on with the `last` message of an event."""
        attempts = 0
        while True:
            attempt = await self._sender.send(endpoint.body.url, self._secret, message.id, message.body)
            attempts += 1
            now = self._clock.micros() // 1000
            delivery = Delivery(
                message_id=message.id,
                type=message.type,
                at=now,
                attempts=attempts,
                duration_ms=attempt.duration_ms,
                session_id=message.session_id,
                cursor=cursor,
                status=attempt.status,
                error=attempt.error,
            )
            progress = self._progress.with_delivery(delivery)
            if not attempt.error:
                commit, sequence = map(int, cursor.split("."))
                moved = {"commit": commit, "sequence": sequence} if last else {}
                await self._keep(replace(progress, failing_since=None, **moved))
                return True
            since = progress.failing_since or now
            progress = replace(progress, failing_since=since)
            reason = self._pause_reason(attempt.status, attempt.error, now - since)
            if reason is not None:
                logger.warning("a webhook is paused", webhook=self._id, why=reason)
                await self._keep(replace(progress, paused_at=now, pause_reason=reason))
                return False
            await self._keep(progress)
            await anyio.sleep(self._policy.delay(attempts))

    def _pause_reason(self, status: int | None, error: str, millis: int) -> str | None:
        if status == _GONE:
            return "The endpoint answered 410: it wants no more messages."
        if millis >= self._policy.pause_after * 1000:
            return f"Every attempt for {millis // 1000} seconds has failed. The last one: {error}."
        return None

    async def _keep(self, progress: Progress) -> None:
        self._version = await self._store.keep(self._id, self._version, progress)
        self._progress = progress
