"""A mock conversation with an ear that remembers everything."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from tests.agents.ear import Ear
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.adapter import Launch, NativeSession, Prompt
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.agents.mock.driver import MockConversation
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.events import TurnEnded


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
    async with anyio.create_task_group() as tasks:
        adapter = MockAdapter(TaskSupervisor(tasks))
        ear = Ear()
        conversation = await adapter.open(launched, ear)
        try:
            yield Stage(adapter, launched, ear, conversation)
        finally:
            with anyio.fail_after(LIMIT_SECONDS, shield=True):
                await conversation.close(force=True)
                await adapter.close()
            assert len(ear.deaths) == 1
