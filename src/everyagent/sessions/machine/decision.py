"""The decision of a session machine on one input."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from everyagent.log.log import Append, FrameDirection
from everyagent.model.asks import Answer
from everyagent.model.sessions import SendMessage
from everyagent.sessions.machine.effects import Effect
from everyagent.sessions.machine.state import SessionState
from everyagent.sessions.machine.transaction import Transaction

Snapshot: TypeAlias = tuple[SessionState, object]


class Decision:
    """`append` is committed first, if there is one; `patient`: a full disk is waited out. Then come the effects.

    `accepted`: the agent is wanted, or was let go. `stopped`: a turn was stopped, or will be. `ask_id` is the ask that
    was opened; `granted` is the answer if it was closed at once. `withdrawn` are messages that will not be sent.
    """

    __slots__ = ("accepted", "append", "ask_id", "effects", "granted", "patient", "stopped", "transaction", "withdrawn")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.append: Append | None = None
        self.effects: list[Effect] = []
        self.patient = True
        self.accepted = False
        self.stopped = False
        self.ask_id: str | None = None
        self.granted: Answer | None = None
        self.withdrawn: list[SendMessage] = []

    def note(self, note: Mapping[str, object], direction: FrameDirection = "daemon") -> None:
        """A frame of the daemon's own: the cause of the events that follow."""
        self.transaction.begin_frame(direction, msgspec.json.encode(note))
