"""Sessions whose agent runs on a runner: keeps the mark of what is stored, and goes on after a restart. Pure."""

import msgspec
from msgspec.structs import replace

from everyagent.sessions.launch.config import config_of
from everyagent.sessions.machine import inputs
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.announced import announced_in
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.state import SessionState


def keep_mark(input: inputs.SessionInput, state: SessionState, decision: Decision) -> None:
    """Store the mark of a runner in the transaction of the frames that it covers. A mark never goes back."""
    mark = input.mark if isinstance(input, inputs.FramesReceived | inputs.AgentReady) else None
    if mark is None:
        return
    config = config_of(state.record)
    before = config.runner_mark
    if before is None or (before.epoch, before.sequence) < (mark.epoch, mark.sequence):
        decision.transaction.change(config=msgspec.json.encode(replace(config, runner_mark=mark)))


def resume(state: SessionState) -> None:
    """The session was loaded, and its agent still runs on its runner: the open turn goes on."""
    state.live = True
    state.sequencer.resume()
    if state.sequencer.turn_id:
        state.turn = ActiveTurn(state.sequencer.turn_id, None, announced_in(state.record))
        state.turn.responded = True
