"""Gemini CLI."""

from everyagent.agents.acp.profile import UNASKED, NpmPackage, Profile
from everyagent.model.policies import AgentTool

PROFILE = Profile(
    name="gemini",
    title="Gemini CLI",
    npm=NpmPackage(package="@google/gemini-cli", version="0.61.0", member="package/bundle/gemini.js"),
    command="gemini",
    arguments=("--acp",),
    passed=("GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_TRUST_WORKSPACE"),
    prefixes=("GOOGLE_",),
    variables={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
    logins=(".gemini/oauth_creds.json",),
    login_hint="Run `everyagent agents login gemini`, or set GEMINI_API_KEY.",
    native_homes=(".gemini",),
    model_argument="--model",
    modes={"default": "default", "plan": "plan", "acceptEdits": "autoEdit", "bypass": "yolo"},
    asking="default",
    tools=(
        AgentTool(name="run_shell_command", kinds=["bash"]),
        AgentTool(name="write_file", kinds=["write"]),
        AgentTool(name="replace", kinds=["edit"]),
        AgentTool(name="web_fetch", kinds=["web_fetch"]),
        AgentTool(name="read_file", kinds=["read"], verdicts=UNASKED),
        AgentTool(name="glob", kinds=["glob"], verdicts=UNASKED),
        AgentTool(name="grep_search", kinds=["grep"], verdicts=UNASKED),
        AgentTool(name="google_web_search", kinds=["web_search"], verdicts=UNASKED),
    ),
    tool_names="id",
    notices=("[MODE_UPDATE] ",),
    load_delay=61.0,
    bash_env=True,
    gaps=(
        "The input of calls and the output of reads never arrive, nor a command's exit code.",
        "`session/load` in the minute of the session's creation destroys its history, so a session that young is "
        "continued from everyagent's own log.",
        "A custom tool that its client answers after more than a minute has failed by then.",
        "Retries after 429 and 5xx are silent.",
    ),
)
