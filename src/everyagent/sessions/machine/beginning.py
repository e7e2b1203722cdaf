"""Begins a turn for messages of clients, and instructions with the role `system` that come with them. Pure."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Capabilities
from everyagent.sessions.launch.config import SessionConfig
from everyagent.sessions.machine.active_turn import ActiveTurn
from everyagent.sessions.machine.announced import announced_in
from everyagent.sessions.machine.decision import Decision
from everyagent.sessions.machine.messages import InputMessage, input_item, joined_prompt
from everyagent.sessions.machine.state import SessionState


def begin(
    state: SessionState, entries: Sequence[InputMessage], capabilities: Capabilities, decision: Decision
) -> ActiveTurn:
    """Instructions follow the users' messages in the log, and are repeated by no agent."""
    users = [input_item(entry) for entry in entries if entry.role == "user"]
    others = [input_item(entry) for entry in entries if entry.role == "system"]
    parent = next((entry.message.traceparent for entry in entries if entry.message.traceparent), None)
    decision.transaction.emit(state.sequencer.start_turn(users, echo=capabilities.message_echo, parent=parent))
    decision.transaction.emit(state.sequencer.say(others))
    prompt = replace(joined_prompt(entries, system_messages=capabilities.system_messages), traceparent=parent)
    if prompt.system:
        _keep(state, prompt.system, decision)
    return ActiveTurn(state.sequencer.turn_id, prompt, announced_in(state.record))


def _keep(state: SessionState, instructions: str, decision: Decision) -> None:
    """Makes them a part of the session's system prompt, for every later start of its agent."""
    transaction = decision.transaction
    config = msgspec.json.decode(transaction.config or state.record.config, type=SessionConfig)
    kept = [*config.system_messages, state.mask.masker.mask_text(instructions)]
    transaction.change(config=msgspec.json.encode(replace(config, system_messages=kept)))
