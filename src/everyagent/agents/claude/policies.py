"""Enforces tool policies on Claude Code with a hook before every tool call, those of sub-agents included.

The program runs the hook in every mode. It is registered by the daemon, so no settings file can remove it.
"""

from msgspec import Raw

from everyagent.agents.claude import modes
from everyagent.agents.claude.answers import ALLOWED, denied
from everyagent.agents.mcp_names import server_and_tool
from everyagent.agents.web_fetch import fetch_refusal
from everyagent.model.policies import UNRESTRICTED, AgentTool, ToolPolicies, Verdict, refusal

#: The MCP server with the session's custom tools. The daemon itself applies policies to those.
CUSTOM_SERVER = "everyagent"
#: The call does not run if the hook gets no answer in time.
HOOKS: dict[str, object] = {"PreToolUse": [{"matcher": None, "hookCallbackIds": ["policies"]}]}

_KINDS = {
    "Bash": "bash",
    "Monitor": "bash",
    "PowerShell": "bash",
    "REPL": "bash",
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
}
_OTHERS = (
    *("Agent", "Config", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree", "ExitWorktree"),
    *("ListAgents", "ListMcpResourcesTool", "LSP", "PushNotification", "ReadMcpResourceTool", "RemoteTrigger"),
    *("ReportFindings", "ScheduleWakeup", "SendMessage", "SendUserFile", "SendUserMessage", "Skill"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete"),
    *("TodoWrite", "ToolSearch", "WaitForMcpServers", "Workflow"),
)
_QUESTIONS = ("AskUserQuestion", "ExitPlanMode")
#: Tools that the program lists under another name than the model uses.
_ALIASES = {"Task": "Agent"}

TOOLS = [
    *(AgentTool(name=name, kinds=[kind], domains=kind == "web_fetch") for name, kind in _KINDS.items()),
    *(AgentTool(name=name) for name in _OTHERS),
    *(AgentTool(name=name, by_name=True) for name in _QUESTIONS),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}


def verdict(policies: ToolPolicies, name: str) -> Verdict:
    """The verdict on a tool, by the program's own name for it."""
    server, tool = server_and_tool(name)
    if server == CUSTOM_SERVER:
        return "auto"
    if server:
        return policies.server_verdict(server, tool)
    name = _ALIASES.get(name, name)
    return policies.verdict(_BY_NAME.get(name, AgentTool(name=name)))


def ruling(policies: ToolPolicies, name: str, mode: str, input: Raw) -> dict[str, object]:
    """The hook's answer. In plan mode `allow` has no effect, because nothing may change there."""
    if elsewhere := fetch_refusal(policies, _BY_NAME.get(name), input):
        return _decision("deny", elsewhere)
    match verdict(policies, name):
        case "auto":
            return {}
        case "allow":
            return {} if mode == modes.PLAN else _decision("allow", "allowed by the session's tool policies")
        case "ask":
            return _decision("ask", "The session's tool policies want this asked.")
        case "deny":
            return _decision("deny", refusal(name))


def settled(ruled: Verdict, name: str, mode: str) -> dict[str, object] | None:
    """The answer to a permission request that the policies decide; None if the user must be asked."""
    match ruled:
        case "allow" if mode != modes.PLAN:
            return ALLOWED
        case "deny":
            return denied(refusal(name))
        case _:
            return None


def needs_hook(policies: ToolPolicies) -> bool:
    return policies != UNRESTRICTED


def flags(policies: ToolPolicies) -> dict[str, object]:
    """Shell commands in skills and slash commands run without the hook, so they are off unless commands are allowed."""
    return {"disableSkillShellExecution": verdict(policies, "Bash") in ("ask", "deny")}


def _decision(decision: str, reason: str) -> dict[str, object]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
