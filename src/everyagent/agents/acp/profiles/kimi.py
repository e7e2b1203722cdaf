"""Kimi Code."""

from everyagent.agents.acp.profile import UNASKED, NpmPackage, Profile
from everyagent.model.policies import AgentTool

PROFILE = Profile(
    name="kimi",
    title="Kimi Code",
    npm=NpmPackage(
        package="@moonshot-ai/kimi-code",
        version="2.1.0",
        member="package/node_modules/@moonshot-ai/kimi-code/dist/main.mjs",
        dependencies=True,
        node=22,
    ),
    command="kimi",
    arguments=("acp",),
    variables={"KIMI_MCP_TOOL_TIMEOUT_MS": "604800000"},  # a week for clients that run custom tools
    prefixes=("KIMI_", "MOONSHOT_"),
    keys=("KIMI_MODEL_API_KEY", "KIMI_API_KEY", "MOONSHOT_API_KEY"),
    logins=(".kimi-code/credentials.json", ".kimi/credentials"),
    login_hint=(
        "Run `everyagent agents login kimi`, or set KIMI_MODEL_BASE_URL, KIMI_MODEL_API_KEY and KIMI_MODEL_NAME."
    ),
    native_homes=(".kimi-code", ".kimi"),
    model_variable="KIMI_MODEL_NAME",
    modes={"default": "default", "plan": "plan", "acceptEdits": "default", "bypass": "yolo"},
    asking="default",
    tools=(
        AgentTool(name="Bash", kinds=["bash"]),
        AgentTool(name="Read", kinds=["read"], verdicts=UNASKED),
        AgentTool(name="Write", kinds=["write"], verdicts=UNASKED),
        AgentTool(name="Edit", kinds=["edit"], verdicts=UNASKED),
        AgentTool(name="Glob", kinds=["glob"], verdicts=UNASKED),
        AgentTool(name="Grep", kinds=["grep"], verdicts=UNASKED),
        AgentTool(name="AskUserQuestion", by_name=True, verdicts=UNASKED),
    ),
    tool_names="title",
    arguments_in_content=True,
    exit_words=r"Command failed with exit code: (\d+)\.\s*$",
    bash_env=True,
    gaps=(
        "It does not ask before it edits files in the workspace, in any mode but `plan`.",
        "Usage is the size of the context only. A refused or rate-limited request ends the turn without a "
        "word, which is an error here.",
        "A diff shows the changed text only, not its place in the file.",
    ),
)
