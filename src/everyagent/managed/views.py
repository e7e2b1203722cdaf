"""Where the views of managed sessions come from."""

from collections.abc import Awaitable, Callable

import msgspec

from everyagent.errors import SessionNotFound
from everyagent.log.log import Log, SessionRecord
from everyagent.log.views import NewView
from everyagent.managed.projection.document import Document
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import State


class ManagedViews:
    """`judge` is told of every turn that ends: what waits to be judged is."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.judge: Callable[[str], Awaitable[None]] | None = None

    async def open(self, record: SessionRecord) -> Projector | None:
        try:
            found = await self._log.view(record.session_id)
        except SessionNotFound:
            return None
        return Projector(record.session_id, found.state, found.document)

    async def turn_over(self, session_id: str) -> None:
        if self.judge:
            await self.judge(session_id)


def new_view(document: Document, agent_id: str, agent_version: int) -> NewView:
    return NewView(
        agent_id=agent_id,
        agent_version=agent_version,
        environment_id=document.environment_id,
        status="idle",
        state=msgspec.json.encode(State()),
        document=msgspec.json.encode(document),
    )
