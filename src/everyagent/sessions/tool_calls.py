"""Calls of a session's custom tools: checked against the policies, then run by the client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from everyagent.model.asks import Answer, PermissionAnswer, ToolAnswer
from everyagent.model.events import PermissionRequested, ToolRequested
from everyagent.model.ids import new_id
from everyagent.model.parts import Json
from everyagent.model.policies import ToolPolicies, refusal

#: Sends an ask of the daemon to the client; None if no turn runs, or the turn ended first.
AskClient: TypeAlias = Callable[[PermissionRequested | ToolRequested], Awaitable[Answer | None]]
UNANSWERED = "No turn is running that could answer this call."


class OpenCalls:
    """The daemon's own asks that wait for the client's answer, and answers that came before the agent's call."""

    __slots__ = ("_early", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Answer | None]] = {}
        self._early: dict[str, ToolAnswer] = {}

    def wait_for(self, ask_id: str) -> "asyncio.Future[Answer | None]":
        waiting = asyncio.get_running_loop().create_future()
        if ask_id in self._early:
            waiting.set_result(self._early.pop(ask_id))
        else:
            self._waiting[ask_id] = waiting
        return waiting

    def answered(self, ask_id: str, answer: Answer | None) -> bool:
        """False if the ask is the agent's."""
        waiting = self._waiting.pop(ask_id, None)
        if waiting and not waiting.done():
            waiting.set_result(answer)
        elif waiting is None and isinstance(answer, ToolAnswer):
            self._early[ask_id] = answer
            return True
        return waiting is not None

    def turn_over(self) -> None:
        """The agent makes none of the calls any more that were answered early."""
        self._early.clear()

    def close(self) -> None:
        """End the wait for all of them."""
        for ask_id in list(self._waiting):
            self.answered(ask_id, None)


async def call_tool(ask: AskClient, policies: ToolPolicies, name: str, input: Json) -> ToolAnswer:
    """Denies the call, asks for permission first, or passes it to the client, as the policies demand."""
    match policies.custom_verdict(name):
        case "deny":
            return _failed(refusal(name))
        case "ask":
            permission = PermissionRequested(
                permission_id=new_id("perm_"),
                action=name,
                status="requested",
                tool=name,
                input=input,
                options=["once", "reject"],
            )
            match await ask(permission):
                case PermissionAnswer(reply="reject", message=why):
                    return _failed(why or "The user declined.")
                case PermissionAnswer():
                    pass
                case _:
                    return _failed(UNANSWERED)
        case "allow" | "auto":
            pass
    answer = await ask(ToolRequested(tool_id=new_id("call_"), name=name, input=input, status="requested"))
    return answer if isinstance(answer, ToolAnswer) else _failed(UNANSWERED)


def _failed(why: str) -> ToolAnswer:
    return ToolAnswer(output=why, is_error=True)
