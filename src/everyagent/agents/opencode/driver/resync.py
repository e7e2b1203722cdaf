"""Fetches the state of a turn from OpenCode where its events are incomplete, and decodes what was missed."""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.decode.turns import OpencodeTurn
from everyagent.agents.opencode.driver.snapshot import SnapshotResult
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger

#: How long OpenCode may be idle with a turn open before its state is fetched.
CHECK_SECONDS = 1.0
#: Failed attempts to fetch the state before the turn is given up.
ATTEMPTS = 5

logger = get_logger(__name__)


class Resync:
    """`spawn` starts a task; `fetch` gets the state of a turn; `remind` is called when a turn is due for a check."""

    def __init__(
        self,
        decoder: OpencodeDecoder,
        spawn: Callable[[Callable[[], Awaitable[object]]], None],
        *,
        fetch: Callable[[OpencodeTurn], Awaitable[SnapshotResult]],
        remind: Callable[[], None],
    ) -> None:
        self._decoder = decoder
        self._spawn = spawn
        self._fetch = fetch
        self._remind = remind
        self._due: OpencodeTurn | None = None
        self._attempts = 0

    def begin(self) -> None:
        """Check the turn after a while, in which OpenCode may send more."""
        turn = self._decoder.turn
        if turn and turn is not self._due:
            self._due = turn
            self._spawn(partial(self._wait, turn))

    async def _wait(self, turn: OpencodeTurn) -> None:
        await anyio.sleep(CHECK_SECONDS)
        if turn is self._decoder.turn:
            self._remind()

    async def after_loss(self) -> list[DecodedFrame]:
        """The event stream was lost: everything that was missed."""
        self._decoder.tear()
        return await self._caught_up(idle=False)

    async def check(self) -> list[DecodedFrame]:
        """The turn that was due for a check, unless another one runs."""
        return await self._caught_up(idle=True) if self._decoder.turn is self._due else []

    async def _caught_up(self, *, idle: bool) -> list[DecodedFrame]:
        turn = self._decoder.turn
        if turn is None:
            return []
        self._due = None
        try:
            result = await self._fetch(turn)
        except AgentFailed as failure:
            return self._failed(failure)
        self._attempts = 0
        drafts = list(self._decoder.catch_up(result.snapshot, idle=idle))
        *frames, last = result.frames
        return [*(DecodedFrame(frame, ()) for frame in frames), DecodedFrame(last, drafts)]

    def _failed(self, failure: AgentFailed) -> list[DecodedFrame]:
        """Retries until the server has ended or the turn is given up."""
        logger.info("opencode's state was not fetched", native=self._decoder.session, error=failure.detail)
        self._attempts += 1
        if self._attempts < ATTEMPTS:
            self.begin()
            return []
        self._attempts = 0
        drafts = list(self._decoder.refused(failure.detail))
        return [DecodedFrame(Frame("from_agent", failure.detail.encode(), "text"), drafts)]
