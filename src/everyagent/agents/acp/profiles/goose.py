"""Goose."""

from everyagent.agents.acp.profile import NpmPackage, Profile
from everyagent.model.policies import AgentTool

PROFILE = Profile(
    name="goose",
    title="Goose",
    npm=NpmPackage(package="@aaif/goose-binary-{platform}", version="1.52.0", member="package/bin/goose", whole=False),
    command="goose",
    arguments=("acp",),
    passed=("OPENAI_API_KEY", "OPENAI_HOST", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_HOST"),
    prefixes=("GOOSE_",),
    variables={"GOOSE_DISABLE_KEYRING": "1"},
    keys=("GOOSE_PROVIDER",),
    logins=(".config/goose/config.yaml",),
    login_hint="Run `everyagent agents login goose`, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key.",
    native_homes=(".config/goose", ".local/share/goose", ".local/state/goose"),
    model_variable="GOOSE_MODEL",
    modes={"default": "approve", "plan": "chat", "bypass": "auto"},
    asking="approve",
    tools=(
        AgentTool(name="shell", kinds=["bash"]),
        AgentTool(name="read", kinds=["read"]),
        AgentTool(name="write", kinds=["write"]),
        AgentTool(name="edit", kinds=["edit"]),
        AgentTool(name="tree", kinds=["glob"]),
        AgentTool(name="delegate"),
    ),
    delegates=("delegate",),
    tool_names="meta",
    usage="last_request",
    errors=("Ran into this error", "Network error"),
    bash_env=True,
    gaps=(
        "Sub-agents run commands without asking, so they are refused while tool policies restrict a tool.",
        "A turn's usage is that of its last request.",
        "A command that was cancelled lives on until its session's agent ends.",
    ),
)
