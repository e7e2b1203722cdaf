"""GitHub Copilot CLI."""

from everyagent.agents.acp.profile import UNASKED, NpmPackage, Profile
from everyagent.model.policies import AgentTool

_MODE = "https://agentclientprotocol.com/protocol/session-modes#"

PROFILE = Profile(
    name="copilot",
    title="GitHub Copilot CLI",
    npm=NpmPackage(package="@github/copilot-{platform}", version="1.0.102", member="package/copilot", whole=False),
    command="copilot",
    arguments=("--acp",),
    passed=("GH_TOKEN", "GITHUB_TOKEN"),
    prefixes=("COPILOT_",),
    variables={"COPILOT_AUTO_UPDATE": "false"},
    keys=("COPILOT_PROVIDER_BASE_URL", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
    logins=(".copilot/config.json",),
    login_hint="Run `everyagent agents login copilot`, or set COPILOT_GITHUB_TOKEN.",
    native_homes=(".copilot", ".cache/copilot"),
    model_variable="COPILOT_MODEL",
    modes={"default": f"{_MODE}agent", "plan": f"{_MODE}plan"},
    asking=f"{_MODE}agent",
    tools=(
        AgentTool(name="bash", kinds=["bash"]),
        AgentTool(name="edit", kinds=["edit", "write"]),
        AgentTool(name="web_fetch", kinds=["web_fetch"]),
        AgentTool(name="read", kinds=["read"], verdicts=UNASKED),
        AgentTool(name="grep", kinds=["grep", "glob"], verdicts=UNASKED),
    ),
    usage="session",
    errors=("Error: ",),
    notices=("Info: ", "Warning: "),
    retry=r"Info: .* Retrying\.\.\.",
    live_content=True,
    whole_calls=True,
    local_mcp=False,
    gaps=(
        "MCP servers over stdio are dropped without a word; servers over HTTP work.",
        "The text of sub-agents is mixed into the main message.",
        "Tool calls have no names, only kinds.",
    ),
)
