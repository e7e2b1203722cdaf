"""The limit on agents that run at a time. Every actor asks here before it starts one."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from everyagent.sessions.refusals import too_many_agents

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor


class RunningAgents:
    """`most` of 0 is no limit. An agent counts from before its start until it is gone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._admitted: set[Actor] = set()

    async def admit(self, actor: "Actor") -> None:
        """Let the actor start an agent. The agent that is idle for longest is stopped, if there is no room.

        Raises `TooManyAgents` if no agent can be stopped. The actor must be `talking`.
        """
        tried = {actor}
        while self._full(actor):
            idle = self._idle() - tried
            if not idle:
                raise too_many_agents(self._most)
            longest = min(idle, key=lambda each: each.idle_since)
            tried.add(longest)
            await longest.hibernate()
        if self._most:
            self._admitted.add(actor)

    def require_room(self, actor: "Actor") -> None:
        """Raises `TooManyAgents` if the actor has no agent, and cannot start one now."""
        if self._full(actor) and not self._idle():
            raise too_many_agents(self._most)

    def room(self, actors: "Iterable[Actor]") -> float:
        """How many more agents may run, when those that are idle are stopped and each actor with work has its own."""
        return self._most - sum(not each.idle for each in actors) if self._most else math.inf

    def _full(self, actor: "Actor") -> bool:
        """Whether the actor has no agent, and as many others have one as may."""
        if not self._most:
            return False
        self._admitted = {each for each in self._admitted if each.live or each.talking}
        return actor not in self._admitted and len(self._admitted) >= self._most

    def _idle(self) -> "set[Actor]":
        return {each for each in self._admitted if each.idle and each.live and not each.users}
