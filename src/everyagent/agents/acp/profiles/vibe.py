"""Mistral Vibe."""

from everyagent.agents.acp.profile import UNASKED, Profile, PypiPackage
from everyagent.model.policies import AgentTool

PROFILE = Profile(
    name="vibe",
    title="Mistral Vibe",
    pypi=PypiPackage(package="mistral-vibe", version="3.0.2", command="vibe-acp", python="3.12"),
    command="vibe-acp",
    passed=("MISTRAL_API_KEY",),
    prefixes=("VIBE_",),
    keys=("MISTRAL_API_KEY",),
    logins=(".vibe/config.toml", ".vibe/.env"),
    login_hint="Run `everyagent agents login vibe`, or set MISTRAL_API_KEY.",
    native_homes=(".vibe",),
    modes={"default": "ask", "acceptEdits": "accept-edits", "bypass": "auto-approve"},
    asking="ask",
    tools=(
        AgentTool(name="write_file", kinds=["write"]),
        AgentTool(name="bash", kinds=["bash"], verdicts=UNASKED),
        AgentTool(name="read_file", kinds=["read"], verdicts=UNASKED),
    ),
    tool_names="meta",
    usage="session",
    bash_env=True,
    gaps=(
        "It runs commands that it takes for harmless, such as `echo`, without asking.",
        "A command's exit code never arrives.",
        "The usage of the first turn after a restart is that of the whole session.",
    ),
)
