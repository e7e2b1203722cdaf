"""The parts that the catalogs of all agents have in common: capabilities and modes. Used by their `catalog.py`."""

import re
from collections.abc import Mapping

from everyagent.agents.adapter import Capabilities
from everyagent.model.agents import Mode

#: A coding agent with a process of its own for each session. Agents replace the few flags in which they differ.
CODING_AGENT = Capabilities(
    plan_mode=True,
    permissions=True,
    questions=True,
    tool_calls=True,
    tool_results=True,
    images=True,
    file_attachments=True,
    session_lifecycle=True,
    error_events=True,
    reasoning=True,
    status=True,
    command_execution=True,
    file_changes=True,
    mcp_tools=True,
    streaming_deltas=True,
    item_started=True,
    variants=True,
    custom_tools=True,
    subagents=True,
    subagent_interrupt=True,
    usage=True,
    steering=True,
    resume=True,
    system_prompt=True,
    system_messages=True,
    model_change=True,
    mode_change=True,
    tool_policies=True,
    own_tools_off=True,
)
_WORD = re.compile(r"-|(?=[A-Z])")


def modes(descriptions: Mapping[str, str]) -> list[Mode]:
    """Modes by their ids; an id such as `acceptEdits` is named "Accept edits"."""
    return [
        Mode(id=id, name=" ".join(_WORD.split(id)).capitalize(), description=description)
        for id, description in descriptions.items()
    ]
