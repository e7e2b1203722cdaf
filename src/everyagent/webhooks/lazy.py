"""The webhooks of a daemon, loaded when there is an endpoint: most daemons have none."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import anyio.abc
from msgspec import Struct

from everyagent.clock import Clock
from everyagent.log.log import Log
from everyagent.log.records import RecordQuery, Records

if TYPE_CHECKING:
    from everyagent.webhooks.store import Seal
    from everyagent.webhooks.webhooks import Webhooks


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """`networks` are those that messages may be sent to although they are not public, with commas between them.

    `pause_after` is in seconds. `public_url` is the address at which people reach the daemon; `link_key` signs links.
    """

    networks: str | None
    pause_after: float
    public_url: str
    link_key: bytes


class LazyWebhooks:
    """`changed` are called after a request has changed an endpoint."""

    def __init__(
        self,
        log: Log,
        every_record: Records,
        vault: "Seal",
        clock: Clock,
        tasks: anyio.abc.TaskGroup,
        settings: WebhookSettings,
    ) -> None:
        self.changed: list[Callable[[], None]] = []
        self.nodes: Callable[[], tuple[Sequence[str], str]] | None = None
        self._log = log
        self._every_record = every_record
        self._vault = vault
        self._clock = clock
        self._tasks = tasks
        self._settings = settings

    async def refresh(self) -> None:
        """Begins to deliver, if there is an endpoint; also one that another node has added."""
        if "loaded" in self.__dict__ or await self._every_record.page(RecordQuery(kind="webhook", limit=1)):
            await self.loaded.reload()

    @cached_property
    def loaded(self) -> "Webhooks":
        from everyagent.webhooks.addresses import AddressRules, networks
        from everyagent.webhooks.answer_links import AnswerLinks
        from everyagent.webhooks.courier import RetryPolicy
        from everyagent.webhooks.webhooks import Webhooks

        settings = self._settings
        made = Webhooks(
            self._log,
            self._every_record,
            self._vault,
            self._clock,
            self._tasks,
            rules=AddressRules(networks(settings.networks) if settings.networks else ()),
            links=AnswerLinks(settings.link_key, settings.public_url, self._clock),
            policy=RetryPolicy(pause_after=settings.pause_after),
            nodes=self.nodes,
        )
        made.changed = self.changed
        return made
