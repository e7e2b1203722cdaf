"""The running turn of a session."""

from typing import Literal

from msgspec.structs import replace

from everyagent.agents.adapter import Death, Prompt
from everyagent.model.events import Error, EventData, TurnEnded
from everyagent.sessions.machine.announced import AnnouncedCalls


class ActiveTurn:
    """`prompt` is None for a turn that the agent began by itself.

    `prompted`: the agent was given the prompt; `responded`: it has sent something since. `failure` is the error with
    which the daemon stops it; without one, a turn that is stopped ends with `stop_reason`. `announced` are the calls of
    custom tools in its messages; `own_calls` counts those of the daemon's own tools that run.
    """

    __slots__ = (
        *("announced", "cancelled", "failure", "own_calls", "prompt", "prompted", "responded", "stop_reason", "tries"),
        "turn_id",
    )

    def __init__(self, turn_id: str | None, prompt: Prompt | None, announced: AnnouncedCalls | None = None) -> None:
        self.turn_id = turn_id
        self.prompt = prompt
        self.prompted = prompt is None
        self.responded = False
        self.cancelled = False
        self.failure: str | None = None
        self.stop_reason: Literal["interrupted", "budget"] = "interrupted"
        self.tries = 0
        self.own_calls = 0
        self.announced = announced or AnnouncedCalls()

    def stop_for(self, reason: Literal["interrupted", "budget"], notice: EventData | None) -> None:
        """The daemon stops it. An `Error` is also the reason why it fails."""
        self.stop_reason = reason
        if isinstance(notice, Error):
            self.failure = notice.message

    def ended_by(self, data: EventData) -> EventData:
        """The agent's end of this turn, with the daemon's reason if it stopped it. Other events stay as they are."""
        if not isinstance(data, TurnEnded):
            return data
        if self.failure is not None:
            return replace(data, stop_reason="error", error=self.failure)
        return replace(data, stop_reason=self.stop_reason) if data.stop_reason == "interrupted" else data

    def may_go_on(self, death: Death) -> bool:
        """Whether a new agent may be given the same prompt after this death."""
        return self.prompt is not None and not self.cancelled and not death.expected

    def is_silent(self, death: Death) -> bool:
        """Whether the agent died before any output, for no known reason."""
        return self.may_go_on(death) and not self.responded and death.code is None

    def worth_a_try(self, death: Death) -> bool:
        """Whether another try may succeed: there was no output yet, and no known reason for the failure."""
        return self.may_go_on(death) and not self.responded and death.code in (None, "network")
