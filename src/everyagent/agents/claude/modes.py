"""Permission modes: maps universal names to Claude Code's own, and back. Pure."""

from everyagent.agents.catalogs import modes
from everyagent.model.agents import Mode
from everyagent.model.events import SessionUpdated

BYPASS = "bypassPermissions"
PLAN = "plan"

AGENT_MODES = modes(
    {
        "build": "Does the work, as the permission mode allows",
        PLAN: "Reads and plans; asks for the plan to be approved before it works",
    }
)
PERMISSION_MODES = [
    *modes(
        {
            "default": "Asks before edits and commands",
            PLAN: "Changes nothing; proposes a plan",
            "acceptEdits": "Edits files without asking, asks for the rest",
            "bypass": "Asks for no permission",
        }
    ),
    Mode(id="dontAsk", name="Don't ask", description="Denies what is not allowed already, without asking"),
    *modes({"auto": "A model decides what is safe enough to go unasked"}),
    Mode(id=BYPASS, name="Bypass permissions", description="Claude Code's own name for `bypass`", same_as="bypass"),
]


def native(permission_mode: str, agent_mode: str) -> str:
    """The agent mode `plan` has precedence, because it must change nothing."""
    if agent_mode == PLAN:
        return PLAN
    return BYPASS if permission_mode == "bypass" else permission_mode


def updated(mode: str) -> SessionUpdated:
    """The agent changed its mode by itself, for example because its plan was approved."""
    return SessionUpdated(
        permission_mode="bypass" if mode == BYPASS else mode, agent_mode=PLAN if mode == PLAN else "build"
    )


def current(mode: str, permission_mode: str, agent_mode: str) -> tuple[str, str]:
    """The chosen permission and agent mode, unless the agent has changed to another one since."""
    if mode == native(permission_mode, agent_mode):
        return permission_mode, agent_mode
    return mode, PLAN if mode == PLAN else "build"
