"""A listener that collects everything, for tests of an adapter without a session."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.adapter import Death, DecodedFrame, Draft
from everyagent.model.events import ItemCompleted
from everyagent.model.items import Item, text_of

T = TypeVar("T")


class CollectingListener:
    """A `Listener` that keeps every batch, draft and death."""

    def __init__(self) -> None:
        self.frames: list[DecodedFrame] = []
        self.drafts: list[Draft] = []
        self.deaths: list[Death] = []
        self._news = anyio.Event()

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        assert not self.deaths
        self.frames += batch
        self.drafts += [draft for decoded in batch for draft in decoded.drafts]
        self._tell()

    async def died(self, death: Death) -> None:
        self.deaths.append(death)
        self._tell()

    async def until(self, met: Callable[[], T | None]) -> T:
        with anyio.fail_after(LIMIT_SECONDS):
            while not (result := met()):
                await self._news.wait()
        return result

    async def next(self, kind: type[T], number: int = 1) -> T:
        """Wait for the `number`th draft of a kind."""
        return (await self.until(lambda: found if len(found := self.all(kind)) >= number else None))[number - 1]

    async def death(self) -> Death:
        return await self.until(lambda: self.deaths[0] if self.deaths else None)

    def all(self, kind: type[T]) -> list[T]:
        return [draft for draft in self.drafts if isinstance(draft, kind)]

    def items(self, kind: str) -> list[Item]:
        return [done.item for done in self.all(ItemCompleted) if done.item.kind == kind]

    def texts(self) -> list[str]:
        return [text_of(item) for item in self.items("message")]

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()
