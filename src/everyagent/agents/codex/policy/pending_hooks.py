"""Hooks of one session that wait for a decision. Called by the hook server and by `driver.py`."""

import asyncio
import itertools
from collections.abc import Callable

import msgspec

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.policy import policies
from everyagent.agents.codex.policy.policy_hooks import HookDecision, PendingHook
from everyagent.model.asks import PermissionAnswer

_OVER = "The session is over."


class PendingHooks:
    """Each hook is `put` among Codex's messages, so that it is decided in order."""

    def __init__(self, decoder: CodexDecoder, put: Callable[[PendingHook | DecodedFrame], None]) -> None:
        self._decoder = decoder
        self._put = put
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[str | None]] = {}
        self._over = False

    async def decide(self, body: bytes) -> str | None:
        """The reason to deny the call, or None to allow it. Cancelled when the hook is gone."""
        try:
            hook = PendingHook(f"hook {next(self._numbers)}", policies.hook_call(body), body)
        except (msgspec.MsgspecError, RecursionError):
            return "This call cannot be decoded, so it was rejected without asking."
        if self._over:
            return _OVER
        decision = self._waiting[hook.key] = asyncio.get_running_loop().create_future()
        self._put(hook)
        try:
            return await decision
        finally:
            del self._waiting[hook.key]
            self._withdraw(hook)

    def resolve(self, decision: HookDecision) -> None:
        waiting = self._waiting.get(decision.key)
        if waiting and not waiting.done():
            waiting.set_result(decision.why)

    def answer(self, key: str, answer: PermissionAnswer) -> None:
        decision, drafts = self._decoder.policy_hooks.answered(key, answer)
        sent = msgspec.json.encode({"hook": key, "allowed": decision.why is None, "reason": decision.why})
        self._put(DecodedFrame(Frame("to_agent", sent), drafts))
        self.resolve(decision)

    def give_up(self) -> None:
        self._over = True
        for key in list(self._waiting):
            self.resolve(HookDecision(key, _OVER))

    def _withdraw(self, hook: PendingHook) -> None:
        """Codex went on without the answer, as it does when the turn is stopped."""
        self._decoder.policy_hooks.withdraw(hook.key)
        open = self._decoder.asks.take(hook.key)
        if open:
            self._put(DecodedFrame(Frame("from_agent", hook.body), (asks.withdrawn(hook.key, open[1]),)))
