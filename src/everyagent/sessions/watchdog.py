"""Ends turns in which the agent sends nothing for longer than the session's `turnTimeout`. Used by the sweep.

Turns are looked at about once a second, so an event costs nothing more.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from everyagent.agents import items
from everyagent.errors import EveryagentError
from everyagent.log.log import SessionRecord
from everyagent.model.events import Error, ItemCompleted
from everyagent.model.ids import new_id
from everyagent.model.parts import StatusPart
from everyagent.sessions.isolated_faults import faults_of
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.inputs import Batch

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor

#: The share of the timeout after which the log has a warning.
WARNING_SHARE = 0.75


class WatchedTurn:
    """`head` is the session's last event that was seen, `silent` the seconds since then. A `timeout` of 0 is none.

    `warned`: the last event is the warning. `busy`: a warning, or the end of the turn, is being committed.
    """

    __slots__ = ("busy", "head", "silent", "timeout", "warned")

    def __init__(self, timeout: float, head: int) -> None:
        self.timeout = timeout
        self.head = head
        self.silent = 0.0
        self.warned = self.busy = False

    def is_due(self, head: int, step: float) -> bool:
        """Whether the turn must be warned of or ended. `step` are the seconds since the last look."""
        if not self.timeout or self.busy:
            return False
        if head != self.head:
            self.head, self.silent, self.warned = head, 0.0, False
        else:
            self.silent += step
        return self.silent >= self.timeout * (1 if self.warned else WARNING_SHARE)


class Watchdog:
    """`spawn` runs an async function for a workspace in the background."""

    def __init__(self, limits: Limits, spawn: Callable[..., None]) -> None:
        self._default = limits.turn_timeout
        self._longest_step = 2 * limits.sweep_every
        self._spawn = spawn
        self._turns: dict[ActiveTurn, WatchedTurn] = {}
        self._looked_at: float | None = None

    def look(self, actors: "Mapping[str, Actor]", now: float) -> None:
        """Warn of silent turns, and end those that were warned of. A pause of the daemon does not count as silence."""
        step = 0.0 if self._looked_at is None else min(now - self._looked_at, self._longest_step)
        self._looked_at = now
        before, self._turns = self._turns, {}
        for session_id, actor in actors.items():
            with faults_of(session_id):
                self._look_at(actor, before, step)

    def _look_at(self, actor: "Actor", before: dict[ActiveTurn, WatchedTurn], step: float) -> None:
        turn, head = actor.machine.state.awaited, actor.machine.state.position.head
        if turn is None:
            return
        watched = before.get(turn)
        self._turns[turn] = watched or WatchedTurn(self._timeout(actor.record), head)
        if watched and watched.is_due(head, step):
            watched.busy = True
            self._spawn(actor.record.workspace, _act, actor, turn, watched)

    def _timeout(self, record: SessionRecord) -> float:
        own = config_of(record).turn_timeout
        return self._default if own is None else own


async def _act(actor: "Actor", turn: ActiveTurn, watched: WatchedTurn) -> None:
    def plan(*_: object) -> Batch | None:
        state = actor.machine.state
        if state.awaited is not turn or state.position.head != watched.head:  # something happened since the look
            return None
        return _end(watched.timeout) if watched.warned else _warning(watched)

    try:
        decision = await actor.submit(plan)
        if decision and decision.append:
            watched.head, watched.warned = decision.append.events[-1].sequence, True
    except EveryagentError:  # the session has ended, or nothing can be stored: without a warning, no turn is ended
        return
    finally:
        watched.busy = False


def _warning(watched: WatchedTurn) -> Batch:
    part = StatusPart(
        label=f"No output for {watched.silent:.0f} seconds",
        detail=f"The turn is ended if the agent sends nothing for {watched.timeout:g} seconds (turnTimeout).",
    )
    notice = ItemCompleted(item=items.status(new_id("itm_"), "turn_timeout", [part]))
    return Batch(frame=b'{"cause":"turn_silent"}', direction="daemon", notice=notice)


def _end(timeout: float) -> Batch:
    message = (
        f"The agent sent nothing for {timeout:g} seconds, so its turn was ended. The next message resumes the session. "
        "If its work takes longer, give the session a longer `turnTimeout`, or the server a longer `--turn-timeout`."
    )
    error = Error(message=message, code="timeout", details={"turn_timeout": timeout})
    return Batch(frame=b'{"cause":"turn_timeout"}', direction="daemon", notice=error, interrupt=message)
