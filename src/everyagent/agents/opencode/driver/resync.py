"""Where OpenCode has told too little of a turn, it is looked at: what it knows itself is told. Used by the driver."""

from collections.abc import Awaitable, Callable

import anyio

from everyagent.agents.adapter import Frame, Heard
from everyagent.agents.opencode.decode.decoder import Decoder
from everyagent.agents.opencode.decode.turns import Turn
from everyagent.agents.opencode.driver.snapshot import Found
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger

#: How long OpenCode may be idle with a turn open before it is looked at.
DOUBT_SECONDS = 1.0
#: So often a turn in doubt is looked at in vain before it is given up.
LOOKS = 5

logger = get_logger(__name__)


class Doubts:
    """`look` finds what OpenCode knows of a turn; `remind` is called when a turn that is doubted is to be looked at."""

    def __init__(
        self,
        decoder: Decoder,
        tasks: TaskSupervisor,
        *,
        look: Callable[[Turn], Awaitable[Found]],
        remind: Callable[[], None],
    ) -> None:
        self._decoder = decoder
        self._tasks = tasks
        self._look = look
        self._remind = remind
        self._doubted: Turn | None = None
        self._looks = 0

    def begin(self) -> None:
        """OpenCode has its time to say more; then it is looked at."""
        turn = self._decoder.turn
        if turn and turn is not self._doubted:
            self._doubted = turn
            self._tasks.start_soon(self._wait, turn)

    async def _wait(self, turn: Turn) -> None:
        await anyio.sleep(DOUBT_SECONDS)
        if turn is self._decoder.turn:
            self._remind()

    async def missed(self) -> list[Heard]:
        """The stream was lost: what was missed, and what follows from it."""
        self._decoder.tear()
        return await self._looked(doubted=False)

    async def due(self) -> list[Heard]:
        """The turn that was doubted is looked at, unless another one runs."""
        return await self._looked(doubted=True) if self._decoder.turn is self._doubted else []

    async def _looked(self, *, doubted: bool) -> list[Heard]:
        turn = self._decoder.turn
        if turn is None:
            return []
        self._doubted = None
        try:
            found = await self._look(turn)
        except AgentFailed as failure:
            return self._looked_in_vain(failure)
        self._looks = 0
        drafts = list(self._decoder.catch_up(found.snapshot, doubted=doubted))
        *frames, last = found.frames
        return [*(Heard(frame, ()) for frame in frames), Heard(last, drafts)]

    def _looked_in_vain(self, failure: AgentFailed) -> list[Heard]:
        """Again and again, until the server is gone or the turn is given up."""
        logger.info("opencode could not be looked at", native=self._decoder.session, error=failure.detail)
        self._looks += 1
        if self._looks < LOOKS:
            self.begin()
            return []
        self._looks = 0
        drafts = list(self._decoder.refused(failure.detail))
        return [Heard(Frame("from_agent", failure.detail.encode(), "text"), drafts)]
