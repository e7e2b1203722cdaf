"""A second telling of a session: what the session tells it, and where views come from. `managed/` has the one there is.

A view is a pure function of the session's frames and events, frame by frame: told again, it tells the same bytes.
"""

from collections.abc import Sequence
from typing import Protocol

from everyagent.agents.adapter import Launch
from everyagent.log.log import FrameDirection, SessionRecord
from everyagent.log.projections import ProjectionStep
from everyagent.model.events import EventData


class Projection(Protocol):
    """Frame by frame: `heard`, then `told` for each event made from it (but deltas), then `settle`."""

    @property
    def blocked(self) -> bool:
        """No turn may begin now."""
        ...

    @property
    def overspent(self) -> bool:
        """The running turn must end now."""
        ...

    def granted(self) -> Sequence[str]:
        """Open asks whose answer is yes, as a client said before."""
        ...

    def heard(self, direction: FrameDirection, body: bytes, at: int) -> None: ...

    def told(self, data: EventData) -> None: ...

    def settle(self) -> None: ...

    def take(self) -> ProjectionStep | None:
        """What the frames since the last `take` add to the view, if anything."""
        ...

    def undo(self) -> None:
        """What was taken last was not written."""
        ...


class Projections(Protocol):
    async def open(self, record: SessionRecord) -> Projection | None:
        """The view of a session that has one, as it stands in the log."""
        ...

    async def launch(self, record: SessionRecord, launch: Launch) -> Launch:
        """How the agent of a session with a view is started: with what belongs to that session."""
        ...

    async def turn_begins(self, view: Projection, session_id: str) -> None:
        """A turn of a session with a view is told, and its agent about to hear of it."""
        ...

    async def turn_over(self, session_id: str) -> None:
        """A turn of a session with a view has ended, and is on disk."""
        ...

    async def going(self, session_id: str) -> None:
        """A session has ended and will be deleted now: what else belongs to it goes, too."""
        ...
