"""Modes: the universal names, and what each means for an agent that asks whenever something matters."""

from msgspec import Struct

from everyagent.agents.catalogs import modes

PERMISSION_MODES = modes(
    {
        "default": "Asks before commands, edits, MCP tools and what it fetches",
        "acceptEdits": "Edits files unasked, asks before all else",
        "plan": "Changes no file; OpenCode's own plan agent",
        "bypass": "Asks nothing",
    }
)
#: The agent modes if OpenCode cannot list its agents.
AGENT_MODES = modes(
    {
        "build": "The default agent",
        "plan": "Plans, and changes no file",
    }
)
PLAN = "plan"
_EDITS = frozenset({"edit"})


class OpencodeMode(Struct, frozen=True):
    """`agent` is OpenCode's agent. Permissions in `accepted`, or all of them, are granted without asking the client."""

    agent: str | None
    accepted: frozenset[str] = frozenset()
    accepts_all: bool = False

    def accepts(self, permission: str) -> bool:
        return self.accepts_all or permission in self.accepted


def native(permission_mode: str, agent_mode: str) -> OpencodeMode:
    """Planning overrides the permission mode: nothing may be changed."""
    agent = PLAN if permission_mode == PLAN else agent_mode or None
    match permission_mode:
        case "bypass":
            return OpencodeMode(agent, accepts_all=True)
        case "acceptEdits":
            return OpencodeMode(agent, accepted=_EDITS)
        case _:
            return OpencodeMode(agent)
