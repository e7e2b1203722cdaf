"""A mock conversation with an ear that remembers everything."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio

from everyagent.agents.adapter import Death, Draft, Heard, Launch, NativeSession, Prompt
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.agents.mock.driver import MockConversation
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.items import Item, text_of

T = TypeVar("T")
LIMIT = 30


class Ear:
    """A `Listener` that keeps what it hears."""

    def __init__(self) -> None:
        self.heard_all: list[Heard] = []
        self.drafts: list[Draft] = []
        self.deaths: list[Death] = []
        self._news = anyio.Event()

    async def heard(self, batch: Sequence[Heard]) -> None:
        assert not self.deaths
        self.heard_all += batch
        self.drafts += [draft for heard in batch for draft in heard.drafts]
        self._tell()

    async def died(self, death: Death) -> None:
        self.deaths.append(death)
        self._tell()

    async def until(self, met: Callable[[], T | None]) -> T:
        with anyio.fail_after(LIMIT):
            while not (result := met()):
                await self._news.wait()
        return result

    async def next(self, kind: type[T], number: int = 1) -> T:
        """The `number`th draft of a kind, when it is there."""
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


class Stage:
    def __init__(self, adapter: MockAdapter, launch: Launch, ear: Ear, conversation: MockConversation) -> None:
        self.adapter = adapter
        self.launch = launch
        self.ear = ear
        self.conversation = conversation

    async def say(self, text: str) -> None:
        await self.conversation.prompt(Prompt(item_id="itm_1", text=text))

    async def turn(self, text: str) -> TurnEnded:
        """Say it, and wait for the end of the turn."""
        before = len(self.ear.all(TurnEnded))
        await self.say(text)
        return await self.ear.next(TurnEnded, before + 1)

    async def native_id(self) -> str:
        return (await self.ear.next(NativeSession)).id


@asynccontextmanager
async def stage(folder: Path, **launch: object) -> AsyncGenerator[Stage]:
    given = {
        "session_id": "s",
        "directory": folder,
        "scratch": folder / "scratch",
        "permission_mode": "default",
        "agent_mode": "build",
    }
    launched = Launch(**{**given, **launch})  # pyright: ignore[reportArgumentType]
    async with anyio.create_task_group() as nursery:
        adapter = MockAdapter(nursery)
        ear = Ear()
        conversation = await adapter.open(launched, ear)
        try:
            yield Stage(adapter, launched, ear, conversation)
        finally:
            with anyio.fail_after(LIMIT, shield=True):
                await conversation.close(force=True)
                await adapter.close()
            assert len(ear.deaths) == 1
