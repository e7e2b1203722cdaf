"""Modes: the universal names, and what each means for an agent that asks whenever something matters."""

from msgspec import Struct

from everyagent.agents.adapter import Mode

PERMISSION_MODES = [
    Mode(id="default", name="Default", description="Asks before commands, edits, MCP tools and what it fetches"),
    Mode(id="acceptEdits", name="Accept edits", description="Edits files unasked, asks before all else"),
    Mode(id="plan", name="Plan", description="Changes no file; OpenCode's own plan agent"),
    Mode(id="bypass", name="Bypass", description="Asks nothing"),
]
#: Where OpenCode is not there to be asked for its agents.
AGENT_MODES = [
    Mode(id="build", name="Build", description="The default agent"),
    Mode(id="plan", name="Plan", description="Plans, and changes no file"),
]
PLAN = "plan"
_EDITS = frozenset({"edit"})


class Native(Struct, frozen=True):
    """`agent` is OpenCode's own word. What it asks of `accepted`, or all of it, is allowed for the user."""

    agent: str | None
    accepted: frozenset[str] = frozenset()
    accepts_all: bool = False

    def accepts(self, permission: str) -> bool:
        return self.accepts_all or permission in self.accepted


def native(permission_mode: str, agent_mode: str) -> Native:
    """Planning wins: whoever chose it wants nothing changed."""
    agent = PLAN if permission_mode == PLAN else agent_mode or None
    match permission_mode:
        case "bypass":
            return Native(agent, accepts_all=True)
        case "acceptEdits":
            return Native(agent, accepted=_EDITS)
        case _:
            return Native(agent)
