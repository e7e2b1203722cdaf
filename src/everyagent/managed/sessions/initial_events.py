"""Stores the initial events of a new session until they are sent, so that a crash neither loses nor repeats them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from everyagent.errors import SessionNotFound
from everyagent.log.log import Receipt
from everyagent.log.records import Delete, Insert, Record, Records
from everyagent.managed.sessions.client_events import SystemMessage, UserDefineOutcome, UserMessage
from everyagent.managed.sessions.conversation import Talking
from everyagent.managed.workspace.workspace import Workspaces
from everyagent.sessions import Sessions

KIND = "session_beginning"
#: Deployments have system messages, too.
PendingEvent: TypeAlias = UserMessage | UserDefineOutcome | SystemMessage


class PendingEvents(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    events: list[PendingEvent]


class InitialEvents:
    def __init__(self, sessions: Sessions, records: Records, talking: Talking, workspaces: Workspaces) -> None:
        self._sessions = sessions
        self._records = records
        self._talking = talking
        self._workspaces = workspaces

    async def keep(self, session_id: str, events: Sequence[PendingEvent]) -> None:
        """Stores the events, before the session exists."""
        body = msgspec.json.encode(PendingEvents(session_id=session_id, events=[*events]))
        await self._records.write(Insert(kind=KIND, id=_id(session_id), body=body))

    async def begin(self, session_id: str, events: Sequence[PendingEvent]) -> None:
        """Sends the events to the session, unless it has them already."""
        key = f"begin {session_id}"  # no client's: theirs have no spaces
        if events and await self._sessions.receipt(key) is None:
            await self._talking.send(session_id, events, _receipt(key))
        await self._records.write(Delete(kind=KIND, id=_id(session_id)))

    async def give_up(self, session_id: str) -> None:
        """Cleans up after a session that was not created."""
        await self._workspaces.remove(session_id)
        await self._records.write(Delete(kind=KIND, id=_id(session_id)))

    async def recover(self, kept: Sequence[Record]) -> None:
        """Finishes the creations that a dead daemon left behind."""
        for record in kept:
            beginning = msgspec.json.decode(record.body, type=PendingEvents)
            try:
                await self._sessions.get(beginning.session_id)
            except SessionNotFound:
                await self.give_up(beginning.session_id)
            else:
                await self.begin(beginning.session_id, beginning.events)


def _id(session_id: str) -> str:
    """Not the session's own id: its records would be deleted with this one."""
    return f"begin_{session_id}"


def _receipt(key: str) -> Callable[[bytes], Receipt]:
    return lambda _: Receipt(key=key, fingerprint="", status=200, body=b"")
