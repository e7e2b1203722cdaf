"""Calls of a session's custom tools that wait for the client's answer."""

import asyncio

from everyagent.model.asks import ToolAnswer
from everyagent.sessions.asks import Asks


class ToolCalls:
    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[ToolAnswer]] = {}

    def wait_for(self, ask_id: str) -> "asyncio.Future[ToolAnswer]":
        waiting = self._waiting[ask_id] = asyncio.get_running_loop().create_future()
        return waiting

    def answered(self, ask_id: str, answer: ToolAnswer) -> None:
        waiting = self._waiting.pop(ask_id, None)
        if waiting and not waiting.done():
            waiting.set_result(answer)

    def release(self, asks: Asks) -> None:
        """Let go of the calls whose asks were closed without an answer."""
        for ask_id in [ask_id for ask_id in self._waiting if not asks.pending(ask_id)]:
            self.answered(ask_id, ToolAnswer(output="The turn ended before this call was answered.", is_error=True))
