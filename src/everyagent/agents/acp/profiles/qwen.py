"""Qwen Code."""

from everyagent.agents.acp.profile import UNASKED, NpmPackage, Profile
from everyagent.model.policies import AgentTool

PROFILE = Profile(
    name="qwen",
    title="Qwen Code",
    npm=NpmPackage(package="@qwen-code/qwen-code", version="0.24.4", member="package/cli-entry.js", node=22),
    command="qwen",
    arguments=("--acp", "--auth-type", "openai"),
    passed=("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"),
    prefixes=("QWEN_",),
    variables={"QWEN_CODE_LEGACY_MCP_BLOCKING": "1"},  # else the first turn begins without the tools of MCP servers
    keys=("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
    login_hint="Set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.",
    native_homes=(".qwen",),
    model_variable="OPENAI_MODEL",
    modes={"default": "default", "plan": "plan", "acceptEdits": "auto-edit", "bypass": "yolo"},
    asking="default",
    tools=(
        AgentTool(name="run_shell_command", kinds=["bash"]),
        AgentTool(name="write_file", kinds=["write"]),
        AgentTool(name="edit", kinds=["edit"]),
        AgentTool(name="web_fetch", kinds=["web_fetch"]),
        AgentTool(name="read_file", kinds=["read"], verdicts=UNASKED),
        AgentTool(name="glob", kinds=["glob"], verdicts=UNASKED),
        AgentTool(name="grep_search", kinds=["grep"], verdicts=UNASKED),
        AgentTool(name="ask_user_question", by_name=True, verdicts=UNASKED),
    ),
    tool_names="meta",
    always_option="proceed_always_project",
    bash_env=True,
    gaps=(
        "Retries after 429 are silent.",
        "Background sub-agents cannot ask, so what needs permission is denied to them.",
    ),
)
