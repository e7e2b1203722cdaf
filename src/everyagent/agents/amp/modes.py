"""Permission modes: Amp has none, so `permissions.py` keeps them. And Amp's own modes, which are variants here."""

from everyagent.agents.adapter import Mode

PLAN = "plan"
BYPASS = "bypass"
#: Amp's own modes: how much is thought about an answer, and by which model.
VARIANTS = ["low", "medium", "high", "ultra"]
DEFAULT_VARIANT = "medium"

AGENT_MODES = [
    Mode(id="build", name="Build", description="Works"),
    Mode(id=PLAN, name="Plan", description="Changes nothing: the permission mode `plan`"),
]
PERMISSION_MODES = [
    Mode(id="default", name="Default", description="Asks before edits, commands and whatever else does something"),
    Mode(id=PLAN, name="Plan", description="Changes nothing: edits and commands are rejected"),
    Mode(id="acceptEdits", name="Accept edits", description="Edits files in its directory, asks for the rest"),
    Mode(id=BYPASS, name="Bypass", description="Asks for nothing; what Amp's own settings reject stays rejected"),
]


def effective(permission_mode: str, agent_mode: str) -> str:
    """Planning wins: whoever chose it wants nothing changed."""
    return PLAN if agent_mode == PLAN else permission_mode
