"""The hooks of one session that wait for a ruling. Called by the gate and by `driver.py`."""

import asyncio
import itertools
from collections.abc import Callable

import msgspec

from everyagent.agents.adapter import Frame, Heard
from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.decoder import Decoder
from everyagent.agents.codex.policy import policies
from everyagent.agents.codex.policy.policy_hooks import Knock, Ruled
from everyagent.model.asks import PermissionAnswer


class Knocks:
    """What is knocked for is `put` among what Codex says, so that it is ruled on in its place."""

    def __init__(self, decoder: Decoder, put: Callable[[Knock | Heard], None]) -> None:
        self._decoder = decoder
        self._put = put
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[str | None]] = {}
        self._over = False

    async def wish(self, body: bytes) -> str | None:
        """Why it must not be; None if it may. Cancelled, when the hook is gone."""
        try:
            knock = Knock(f"hook {next(self._numbers)}", policies.wish(body), body)
        except (msgspec.MsgspecError, RecursionError):
            return "This call cannot be read, so nobody can be asked about it."
        if self._over:
            return "The session is over."
        ruling = self._waiting[knock.key] = asyncio.get_running_loop().create_future()
        self._put(knock)
        try:
            return await ruling
        finally:
            del self._waiting[knock.key]
            self._withdraw(knock)

    def rule(self, ruled: Ruled) -> None:
        waiting = self._waiting.get(ruled.key)
        if waiting and not waiting.done():
            waiting.set_result(ruled.why)

    def answer(self, key: str, answer: PermissionAnswer) -> None:
        ruled, drafts = self._decoder.rulings.answered(key, answer)
        told = msgspec.json.encode({"hook": key, "allowed": ruled.why is None, "reason": ruled.why})
        self._put(Heard(Frame("to_agent", told), drafts))
        self.rule(ruled)

    def give_up(self) -> None:
        self._over = True
        for key in list(self._waiting):
            self.rule(Ruled(key, "The session is over."))

    def _withdraw(self, knock: Knock) -> None:
        """Codex went on without the answer, as it does when the turn is stopped."""
        self._decoder.rulings.left(knock.key)
        _, ask = self._decoder.asks.pop(knock.key, (None, None))
        if ask:
            self._put(Heard(Frame("from_agent", knock.body), (asks.withdrawn(knock.key, ask),)))
