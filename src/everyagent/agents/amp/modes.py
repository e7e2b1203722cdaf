"""Permission modes: Amp has none, so `permissions.py` keeps them. And Amp's own modes, which are variants here."""

from everyagent.agents.catalogs import modes

PLAN = "plan"
BYPASS = "bypass"
#: Amp's own modes: how much is thought about an answer, and by which model.
VARIANTS = ["low", "medium", "high", "ultra"]
DEFAULT_VARIANT = "medium"

AGENT_MODES = modes(
    {
        "build": "Works",
        PLAN: "Changes nothing: the permission mode `plan`",
    }
)
PERMISSION_MODES = modes(
    {
        "default": "Asks before edits, commands and whatever else does something",
        PLAN: "Changes nothing: edits and commands are rejected",
        "acceptEdits": "Edits files in its directory, asks for the rest",
        BYPASS: "Asks for nothing; what Amp's own settings reject stays rejected",
    }
)


def effective(permission_mode: str, agent_mode: str) -> str:
    """Planning wins: whoever chose it wants nothing changed."""
    return PLAN if agent_mode == PLAN else permission_mode
