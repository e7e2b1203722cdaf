from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.model.decoding import decode_event
from everyagent.model.events import Envelope, EventData
from everyagent.model.sessions import CreateSession, SendMessage, SessionInfo
from everyagent.sessions import EventsRequest, Sessions
from everyagent.sessions.limits import Limits
from tests.waiting import LIMIT_SECONDS


class Talk:
    """One session, used as a client would."""

    def __init__(self, sessions: Sessions, session_id: str) -> None:
        self.sessions = sessions
        self.id = session_id

    async def send(self, text: str) -> str:
        return await self.sessions.send(self.id, SendMessage(message=text))

    async def info(self) -> SessionInfo:
        return await self.sessions.get(self.id)

    async def until(self, condition: Callable[[SessionInfo], bool]) -> SessionInfo:
        with anyio.fail_after(LIMIT_SECONDS):
            while not condition(info := await self.info()):
                await anyio.sleep(0.01)
            return info

    async def received(self, words: bytes) -> None:
        """Waits until an event of the agent has these words; those of the user's message do not count."""
        with anyio.fail_after(LIMIT_SECONDS):
            while not any(words in body and b'"source":"agent"' in body for body in await self.bodies()):
                await anyio.sleep(0.01)

    async def at_rest(self) -> SessionInfo:
        return await self.until(lambda info: info.status in ("idle", "hibernated") and not info.queued_messages)

    async def say(self, text: str) -> list[Envelope[EventData]]:
        """Sends a message, waits for the end of its turn, and returns the events since."""
        before = (await self.info()).event_count
        await self.send(text)
        await self.until(lambda info: info.event_count > before)
        await self.at_rest()
        return (await self.events())[before:]

    async def bodies(self) -> list[bytes]:
        return (await self.sessions.events(self.id, EventsRequest(limit=10_000, raw=True))).split()

    async def events(self) -> list[Envelope[EventData]]:
        return [decode_event(body) for body in await self.bodies()]  # pyright: ignore[reportReturnType]


Opened = Callable[..., AbstractAsyncContextManager[Sessions]]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens the sessions of a data folder; they may be closed and opened again."""

    @asynccontextmanager
    async def open_sessions(**limits: float) -> AsyncGenerator[Sessions]:
        settings = Settings(data_dir=tmp_path / "data", default_agent="mock")
        chosen = Limits(**({"retry_delay": 0.01, "sweep_every": 0.05} | limits))  # pyright: ignore[reportArgumentType]
        async with sessions_of(settings, limits=chosen) as sessions:
            yield sessions

    return open_sessions


@pytest.fixture
def create(tmp_path: Path) -> Callable[..., object]:
    async def created(sessions: Sessions, **request: object) -> Talk:
        asked = CreateSession(agent="mock", directory=str(tmp_path), **request)  # pyright: ignore[reportArgumentType]
        return Talk(sessions, (await sessions.create(None, asked)).session_id)

    return created
