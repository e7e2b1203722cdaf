"""A conversation with the mock agent, whose listener collects everything."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from tests.agents.collecting_listener import CollectingListener
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.adapter import Launch, NativeSession, Prompt
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.agents.mock.driver import MockConversation
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.events import TurnEnded


class Stage:
    def __init__(
        self, adapter: MockAdapter, launch: Launch, listener: CollectingListener, conversation: MockConversation
    ) -> None:
        self.adapter = adapter
        self.launch = launch
        self.listener = listener
        self.conversation = conversation

    async def say(self, text: str) -> None:
        await self.conversation.prompt(Prompt(item_id="itm_1", text=text))

    async def turn(self, text: str) -> TurnEnded:
        """Send a prompt, and wait for the end of its turn."""
        before = len(self.listener.all(TurnEnded))
        await self.say(text)
        return await self.listener.next(TurnEnded, before + 1)

    async def native_id(self) -> str:
        return (await self.listener.next(NativeSession)).id


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
        listener = CollectingListener()
        conversation = await adapter.open(launched, listener)
        try:
            yield Stage(adapter, launched, listener, conversation)
        finally:
            with anyio.fail_after(LIMIT_SECONDS, shield=True):
                await conversation.close(force=True)
                await adapter.close()
            assert len(listener.deaths) == 1
