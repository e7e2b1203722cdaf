"""Chooses the limits of a session's agent: what the session asks for, up to the server's."""

from everyagent.errors import UnsupportedChoice
from everyagent.model.limits import AgentLimits, lowest
from everyagent.runtime.limits import size

FIELD = "limits"


def permitted(asked: AgentLimits, most: AgentLimits) -> AgentLimits:
    """The limits that a session asks for. Raises `UnsupportedChoice` if that is above the server's limit."""
    for name in AgentLimits.__struct_fields__:
        wanted, limit = getattr(asked, name), getattr(most, name)
        if wanted is not None and limit is not None and wanted > limit:
            shown = size(limit) if name in ("memory", "disk") else str(limit)
            flag = f"--session-{name.replace('_', '-')}"
            raise UnsupportedChoice(
                f"`limits.{name}` of a session can be {shown} at most on this server. "
                f"Ask for less, or restart the server with a higher `{flag}`.",
                field=FIELD,
            )
    return asked


def at_start(stored: AgentLimits, most: AgentLimits) -> AgentLimits:
    """The limits with which an agent starts: the server's may be lower now than when the session was created."""
    return lowest(stored, most)
