"""Permission modes, which the daemon enforces for Amp, and Amp's own modes, which are variants. Pure."""

from everyagent.agents.catalogs import modes

PLAN = "plan"
BYPASS = "bypass"
#: Amp's own modes: the model, and how long it reasons.
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
    """The agent mode `plan` has precedence, because it must change nothing."""
    return PLAN if agent_mode == PLAN else permission_mode
