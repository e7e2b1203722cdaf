"""Projections of a session's events: the contract with the sessions. `managed/` has the one implementation.

A projection is a pure function of the session's frames and events, frame by frame: made again, it has the same bytes.
"""

from typing import Protocol

from everyagent.agents.adapter import Launch
from everyagent.log.log import FrameDirection, SessionRecord
from everyagent.log.projections import ProjectionStep
from everyagent.model.asks import ToolAnswer
from everyagent.model.events import EventData
from everyagent.model.parts import Json
from everyagent.model.principals import EventActor


class Projection(Protocol):
    """Frame by frame: `begin_frame`, then `event` for each event made from it (but deltas), then `end_frame`."""

    @property
    def blocked(self) -> bool:
        """No turn may begin now."""
        ...

    @property
    def overspent(self) -> bool:
        """The running turn must be stopped now."""
        ...

    def begin_frame(self, direction: FrameDirection, body: bytes, at: int) -> None: ...

    def event(self, data: EventData) -> None: ...

    def end_frame(self) -> None: ...

    def take(self) -> ProjectionStep | None:
        """The events and changes of the frames since the last `take`, if there are any."""
        ...

    def snapshot(self) -> object:
        """The state after the last `take`."""
        ...

    def restore(self, snapshot: object) -> None:
        """Forget everything since the snapshot: it was not committed."""
        ...


class Projections(Protocol):
    """Opens projections, and is called when something happens to sessions that have one."""

    async def open(self, record: SessionRecord) -> Projection | None:
        """The projection of a session as it is in the log; None if it has none."""
        ...

    async def launch(self, record: SessionRecord, launch: Launch) -> Launch:
        """The launch of the session's agent, with everything that the projection adds to it."""
        ...

    async def turn_begins(self, projection: Projection, session_id: str) -> None:
        """A turn is committed; its agent gets the prompt after this. Raising fails the turn."""
        ...

    async def turn_over(self, session_id: str) -> None:
        """A turn has ended, and that is committed. The next one begins after this."""
        ...

    async def run_tool(self, record: SessionRecord, payer: EventActor | None, name: str, input: Json) -> ToolAnswer:
        """The agent called one of the projection's own tools. `payer` has the key that pays for the running turn."""
        ...

    async def ended(self, session_id: str) -> None:
        """A session has ended by a request of a client."""
        ...

    async def going(self, session_id: str) -> None:
        """A session has ended and is about to be deleted, with all that belongs to it."""
        ...
