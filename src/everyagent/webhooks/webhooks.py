"""The webhooks of a daemon: every operation on endpoints, and the couriers that deliver to them."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import anyio.abc
from msgspec.structs import replace

from everyagent.background import keep_running
from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest, Conflict
from everyagent.log.log import Log
from everyagent.log.records import Records
from everyagent.model.ids import new_id
from everyagent.model.principals import current
from everyagent.model.webhooks import (
    SESSION_EVENTS,
    CreateWebhook,
    Delivery,
    NewWebhook,
    ReplayWebhook,
    UpdateWebhook,
    WebhookInfo,
)
from everyagent.signatures import decoded_secret, new_secret
from everyagent.webhooks.addresses import AddressRefused, AddressRules
from everyagent.webhooks.answer_links import AnswerLinks
from everyagent.webhooks.courier import Courier, RetryPolicy
from everyagent.webhooks.messages import encode_message
from everyagent.webhooks.sender import WebhookSender
from everyagent.webhooks.store import Endpoint, EndpointBody, EndpointStore, Progress, Seal, records_of

#: Endpoints of one workspace.
_MOST: Final = 50


class Webhooks:
    """`every_record` shows the endpoints of all workspaces, `log` those of the principal.

    `nodes` are the ids of the nodes of the cluster and of this one, None outside of a cluster.
    """

    def __init__(
        self,
        log: Log,
        every_record: Records,
        vault: Seal,
        clock: Clock,
        tasks: anyio.abc.TaskGroup,
        *,
        rules: AddressRules,
        links: AnswerLinks,
        policy: RetryPolicy,
        nodes: Callable[[], tuple[Sequence[str], str]] | None = None,
    ) -> None:
        self.links = links
        self.changed: list[Callable[[], None]] = []
        self._log = log
        self._every_record = every_record
        self._store = EndpointStore(log.records, vault)
        self._clock = clock
        self._tasks = tasks
        self._rules = rules
        self._policy = policy
        self._nodes = nodes
        self._couriers: dict[str, Courier] = {}

    async def reload(self) -> None:
        """Starts and ends couriers, so that each endpoint has one."""
        found = {record.id: record.workspace for record in await records_of(self._every_record)}
        for webhook_id in [each for each in self._couriers if each not in found]:
            self._couriers.pop(webhook_id).changed(ended=True)
        for webhook_id, workspace in found.items():
            if webhook_id in self._couriers:
                continue
            courier = self._couriers[webhook_id] = Courier(
                webhook_id,
                workspace,
                log=self._log,
                store=self._store,
                sender=WebhookSender(self._rules),
                links=self.links,
                policy=self._policy,
                clock=self._clock,
                mine=self._mine,
                shared=self._nodes is not None,
            )
            self._tasks.start_soon(keep_running, "the delivery of webhooks", courier.run)

    def _mine(self, webhook_id: str) -> bool:
        """Every node gives the same answer: the one with the highest hash of both ids delivers."""
        if self._nodes is None:
            return True
        nodes, own = self._nodes()
        return own == max(nodes, key=lambda node: hashlib.sha256(f"{webhook_id} {node}".encode()).digest(), default="")

    async def _announce(self, webhook_id: str) -> None:
        await self.reload()
        if courier := self._couriers.get(webhook_id):
            courier.changed()
        for changed in self.changed:
            changed()

    async def create(self, asked: CreateWebhook) -> NewWebhook:
        await self._check(asked.url)
        workspace = current().creates_in
        if sum(record.workspace == workspace for record in await records_of(self._log.records)) >= _MOST:
            raise Conflict(
                f"The workspace {workspace!r} has {_MOST} webhooks already. Remove one that is not used any more."
            )
        secret = new_secret()
        body = EndpointBody(
            url=asked.url,
            name=asked.name,
            events=list(dict.fromkeys(asked.events or SESSION_EVENTS)),
            answer_links=asked.answer_links,
        )
        endpoint = await self._store.add(body, decoded_secret(secret), self._log.last_commit)
        await self._announce(endpoint.id)
        return NewWebhook(webhook=endpoint.info(), secret=secret)

    async def list(self) -> "list[WebhookInfo]":
        """Oldest first."""
        return [endpoint.info() for endpoint in await self._store.all()]

    async def find(self, webhook_id: str) -> Endpoint:
        return await self._store.find(webhook_id)

    async def update(self, webhook_id: str, change: UpdateWebhook) -> WebhookInfo:
        await self._store.find(webhook_id)
        if isinstance(change.url, str):
            await self._check(change.url)
        await self._store.change(webhook_id, change)
        if isinstance(change.paused, bool):
            await self._store.move(webhook_id, self._paused if change.paused else _continued)
        await self._announce(webhook_id)
        return (await self._store.find(webhook_id)).info()

    async def remove(self, webhook_id: str) -> WebhookInfo:
        endpoint = await self._store.find(webhook_id)
        await self._store.remove(webhook_id)
        await self._announce(webhook_id)
        return endpoint.info()

    async def replay(self, webhook_id: str, asked: ReplayWebhook) -> WebhookInfo:
        commit, sequence = map(int, (asked.after or "0.0").split("."))
        if commit > self._log.last_commit:
            raise BadRequest(f"The log has no position {asked.after} yet. Use the cursor of a delivery.", field="after")

        def moved(progress: Progress) -> Progress:
            progress = _continued(progress)
            return progress if asked.after is None else replace(progress, commit=commit, sequence=sequence)

        await self._store.move(webhook_id, moved)
        await self._announce(webhook_id)
        return (await self._store.find(webhook_id)).info()

    async def test(self, webhook_id: str) -> Delivery:
        """Sends a test message at once, also to a paused endpoint. It is not tried again."""
        endpoint = await self._store.find(webhook_id)
        message_id, now = new_id("test_"), self._clock.micros()
        data = {"type": "webhook.test", "id": webhook_id, "workspace_id": endpoint.workspace}
        sender = WebhookSender(self._rules)
        try:
            body = encode_message(message_id, rfc3339(now), data)
            attempt = await sender.send(endpoint.body.url, self._store.secret(endpoint), message_id, body)
        finally:
            with anyio.CancelScope(shield=True):
                await sender.close()
        return Delivery(
            message_id=message_id,
            type="webhook.test",
            at=now // 1000,
            attempts=1,
            duration_ms=attempt.duration_ms,
            status=attempt.status,
            error=attempt.error,
        )

    def _paused(self, progress: Progress) -> Progress:
        if progress.paused_at is not None:
            return progress
        return replace(progress, paused_at=self._clock.micros() // 1000, pause_reason="It was paused by a request.")

    async def _check(self, url: str) -> None:
        """Raises `BadRequest` for an address that no message would be sent to. Names may resolve only later."""
        try:
            parts = urlsplit(url)
            host, port, encrypted = parts.hostname, parts.port, parts.scheme == "https"
        except ValueError as error:
            raise BadRequest(f"{url!r} is no address: {error}.", field="url") from error
        if not host or parts.username is not None or parts.fragment:
            raise BadRequest("The address needs a host, and has no user, password or fragment.", field="url")
        try:
            await self._rules.checked(host, port or (443 if encrypted else 80), encrypted=encrypted)
        except AddressRefused as error:
            raise BadRequest(str(error), field="url") from error
        except (OSError, UnicodeError):
            return


def _continued(progress: Progress) -> Progress:
    return replace(progress, paused_at=None, pause_reason=None, failing_since=None)
