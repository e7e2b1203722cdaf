"""A session of `everyagent acp` on a daemon that refuses a request."""

from collections.abc import AsyncGenerator
from typing import cast

import anyio
import pytest
from tests.waiting import LIMIT_SECONDS

from everyagent.cli.acp.choices import Choices
from everyagent.cli.acp.peer import Peer
from everyagent.cli.acp.prompts import PromptMessage
from everyagent.cli.acp.session import EditorSession, Link
from everyagent.client import ApiError, AsyncClient
from everyagent.model.sessions import SessionInfo
from everyagent.model.usage import Usage

pytestmark = pytest.mark.anyio
INFO = SessionInfo(
    session_id="one",
    agent="mock",
    agent_mode="build",
    permission_mode="default",
    model=None,
    variant=None,
    native_session_id=None,
    status="running",
    ended=False,
    event_count=0,
    created_at=0,
    updated_at=0,
    directory="/srv",
    title=None,
    metadata={},
    env=[],
    mcp={},
    tools=[],
    system_prompt=None,
    usage=Usage(),
    cost_usd=0,
    pending_asks=0,
    queued_messages=0,
    forked_from=None,
)


class RefusingClient:
    """Takes a message, which then waits for its turn, and does not withdraw it."""

    def __init__(self) -> None:
        self.sent = anyio.Event()
        self.cancelled: list[str] = []

    async def send(self, session_id: str, text: str, *, attachments: object) -> str:
        del session_id, text, attachments
        self.sent.set()
        return "item"

    async def events(self, session_id: str, *, offset: int) -> AsyncGenerator[object]:
        del session_id, offset
        await anyio.sleep_forever()
        yield

    async def withdraw(self, session_id: str, item: str) -> None:
        del session_id, item
        raise ApiError(503, "unavailable", "The node of the session cannot be reached.", {})

    async def cancel(self, session_id: str) -> None:
        self.cancelled.append(session_id)


async def test_a_cancel_stops_the_turn_although_a_prompt_cannot_be_withdrawn() -> None:
    client = RefusingClient()
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            link = Link(client=cast("AsyncClient", client), peer=cast("Peer", None), tasks=tasks, forms=False)
            session = EditorSession(link, INFO, cast("Choices", None), 0)
            tasks.start_soon(session.prompt, PromptMessage(text="Wait for your turn", attachments=[]))
            await client.sent.wait()
            with pytest.raises(ApiError, match="cannot be reached"):
                await session.cancel()
            tasks.cancel_scope.cancel()
    assert client.cancelled == ["one"]
