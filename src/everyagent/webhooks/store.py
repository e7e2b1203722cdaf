"""Webhook endpoints as records: one for the settings and the sealed secret, one for the progress of its deliveries."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from everyagent.errors import NotFound, RecordChanged, RecordNotFound
from everyagent.log.log import FeedPosition
from everyagent.log.pending_audit import take_pending
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.model.ids import new_id
from everyagent.model.webhooks import Delivery, UpdateWebhook, WebhookEventType, WebhookInfo

KIND: Final = "webhook"
_PROGRESS: Final = "webhook_progress"
_PAGE: Final = 1000
#: Deliveries that are remembered for each endpoint.
REMEMBERED: Final = 50
#: The sequence of a position after a whole commit.
AFTER_ALL: Final = 2**31 - 1


class Seal(Protocol):
    """The vault."""

    def seal(self, data: bytes, about: str) -> bytes: ...
    def unseal(self, sealed: bytes, about: str) -> bytes: ...


class EndpointBody(Struct, frozen=True, kw_only=True):
    url: str
    name: str
    events: list[WebhookEventType]
    answer_links: bool


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything up to the event `sequence` of the commit `commit` was delivered. Times are in milliseconds.

    `deliveries` are the latest, oldest first.
    """

    commit: int
    sequence: int
    failing_since: int | None = None
    paused_at: int | None = None
    pause_reason: str | None = None
    deliveries: list[Delivery] = []

    @property
    def position(self) -> FeedPosition:
        return FeedPosition(self.commit, self.sequence)

    @property
    def cursor(self) -> str:
        return f"{self.commit}.{self.sequence}"

    def with_delivery(self, delivery: Delivery) -> "Progress":
        """A further attempt of the same message replaces the one before."""
        others = [each for each in self.deliveries if each.message_id != delivery.message_id]
        return replace(self, deliveries=[*others, delivery][-REMEMBERED:])


class Endpoint(NamedTuple):
    """`sealed` is the secret that signs the messages, as the vault sealed it: an endpoint whose secret cannot be opened
    is still listed, and can be removed. `progress_version` is the version of the record that has the progress."""

    id: str
    workspace: str
    body: EndpointBody
    sealed: bytes
    created_at: int
    progress: Progress
    progress_version: int

    def info(self) -> WebhookInfo:
        progress = self.progress
        return WebhookInfo(
            webhook_id=self.id,
            url=self.body.url,
            name=self.body.name,
            workspace=self.workspace,
            events=self.body.events,
            answer_links=self.body.answer_links,
            created_at=self.created_at // 1000,
            cursor=progress.cursor,
            failing_since=progress.failing_since,
            paused_at=progress.paused_at,
            pause_reason=progress.pause_reason,
            last_delivery=progress.deliveries[-1] if progress.deliveries else None,
        )


class EndpointStore:
    """`records` shows those of the principal's workspace only."""

    def __init__(self, records: Records, vault: Seal) -> None:
        self._records = records
        self._vault = vault

    async def add(self, body: EndpointBody, secret: bytes, commit: int) -> Endpoint:
        """The endpoint gets everything after the commit."""
        webhook_id = new_id("whk_")
        audit = take_pending(subject=webhook_id)
        await self._records.write(
            Insert(
                kind=KIND, id=webhook_id, body=msgspec.json.encode(body), secret=self._vault.seal(secret, webhook_id)
            ),
            Insert(
                kind=_PROGRESS,
                id=_progress_id(webhook_id),
                parent=webhook_id,
                body=msgspec.json.encode(Progress(commit=commit, sequence=AFTER_ALL)),
            ),
            audit=audit,
        )
        return await self.find(webhook_id)

    async def find(self, webhook_id: str) -> Endpoint:
        try:
            record = await self._records.find(KIND, webhook_id)
            return _endpoint(record, await self._records.find(_PROGRESS, _progress_id(webhook_id)))
        except RecordNotFound as error:
            raise NotFound(f"There is no webhook {webhook_id!r}. GET /v1/webhooks lists those there are.") from error

    async def all(self) -> list[Endpoint]:
        """Oldest first."""
        found: list[Endpoint] = []
        for record in await records_of(self._records):
            try:
                found.append(await self.find(record.id))
            except NotFound:  # removed meanwhile
                continue
        return found

    async def change(self, webhook_id: str, change: UpdateWebhook) -> None:
        record = await self._records.find(KIND, webhook_id)
        given = {name: getattr(change, name) for name in ("url", "name", "events", "answer_links")}
        body = msgspec.json.decode(record.body, type=EndpointBody)
        body = replace(body, **{name: value for name, value in given.items() if value is not UNSET})
        encoded = msgspec.json.encode(body)
        await self._records.write(Replace(kind=KIND, id=webhook_id, version=record.version, body=encoded))

    async def remove(self, webhook_id: str) -> None:
        await self.find(webhook_id)
        await self._records.write(Delete(kind=KIND, id=webhook_id))

    def secret(self, endpoint: Endpoint) -> bytes:
        """Raises `VaultError` if the key of the vault is another one by now."""
        return self._vault.unseal(endpoint.sealed, endpoint.id)

    async def keep(self, webhook_id: str, version: int, progress: Progress) -> int:
        """Stores the progress and returns its new version. Raises `RecordChanged` if somebody else has changed it."""
        change = Replace(
            kind=_PROGRESS, id=_progress_id(webhook_id), version=version, body=msgspec.json.encode(progress)
        )
        (record,) = await self._records.write(change)
        return record.version

    async def move(self, webhook_id: str, moved: Callable[[Progress], Progress]) -> Endpoint:
        """Changes the progress while a courier may be changing it, too."""
        while True:
            endpoint = await self.find(webhook_id)
            try:
                await self.keep(webhook_id, endpoint.progress_version, moved(endpoint.progress))
            except RecordChanged:
                continue
            return await self.find(webhook_id)


async def records_of(records: Records) -> list[Record]:
    """The records of all endpoints, oldest first."""
    found: list[Record] = []
    after: int | None = None
    while True:
        page = await records.page(RecordQuery(kind=KIND, order="asc", limit=_PAGE, after=after))
        found += page[:_PAGE]
        if len(page) <= _PAGE:
            return found
        after = found[-1].number


def _progress_id(webhook_id: str) -> str:
    return f"progress_{webhook_id}"


def _endpoint(record: Record, progress: Record) -> Endpoint:
    return Endpoint(
        id=record.id,
        workspace=record.workspace,
        body=msgspec.json.decode(record.body, type=EndpointBody),
        sealed=record.secret or b"",
        created_at=record.created_at,
        progress=msgspec.json.decode(progress.body, type=Progress),
        progress_version=progress.version,
    )
