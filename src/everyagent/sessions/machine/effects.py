"""Effects that a session's machine decides on. Its actor carries them out once the decision is committed."""

from typing import TypeAlias

from msgspec import Struct

from everyagent.agents.adapter import Change, Prompt
from everyagent.model.asks import Answer
from everyagent.sessions.machine.active_turn import ActiveTurn


class PromptAgent(Struct, frozen=True):
    """Give the turn to the agent, after `delay` seconds; start the agent if it does not run."""

    turn: ActiveTurn
    delay: float = 0.0


class SteerAgent(Struct, frozen=True):
    prompt: Prompt


class PassAnswer(Struct, frozen=True):
    """`key` is the adapter's name for the ask."""

    ask_id: str
    key: str
    answer: Answer


class ChangeAgent(Struct, frozen=True):
    change: Change


class InterruptAgent(Struct, frozen=True):
    """Stop the running turn; end the agent if it does not stop in time."""

    turn: ActiveTurn


class InterruptSubagent(Struct, frozen=True):
    """Stop the sub-agent that this call started."""

    item_id: str


class CloseAgent(Struct, frozen=True):
    """The session is over, so its agent is not needed any more."""


class RestartAgent(Struct, frozen=True):
    """Let the agent go as soon as it is idle; the next turn starts it again."""


class FinishTurn(Struct, frozen=True):
    """A turn has ended: do what follows a turn, then begin the next."""

    turn: ActiveTurn | None = None


class BeginNext(Struct, frozen=True):
    """Messages wait and no turn runs."""


Effect: TypeAlias = (
    PromptAgent
    | SteerAgent
    | PassAnswer
    | ChangeAgent
    | InterruptAgent
    | InterruptSubagent
    | CloseAgent
    | RestartAgent
    | FinishTurn
    | BeginNext
)
