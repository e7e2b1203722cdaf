"""Ids and messages that a session does not take."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from everyagent.errors import BadRequest
from everyagent.model.sessions import Attachment, CreateSession, SendMessage

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]


async def test_an_id_that_is_a_path_and_an_empty_message_are_refused(
    opened: Opened, create: Create, tmp_path: Path
) -> None:
    async with opened() as sessions:
        for session_id in (".", "..", "", "a/b"):
            with pytest.raises(BadRequest) as refused:
                await sessions.create(session_id, CreateSession(agent="mock", directory=str(tmp_path)))
            assert refused.value.facts["field"] == "sessionId"
        talk = await create(sessions)
        for text in ("", " \n"):
            with pytest.raises(BadRequest) as refused:
                await talk.send(text)
            assert refused.value.facts["field"] == "message"
        assert (await talk.info()).event_count == 1
        await sessions.send(talk.id, SendMessage(message="", attachments=[Attachment(data="aGk=", mime="text/plain")]))
        await talk.at_rest()
