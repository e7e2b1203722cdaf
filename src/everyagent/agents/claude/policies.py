"""Tool policies on Claude Code: a hook before every tool call, which the program runs in each of its modes.

Its sub-agents' calls pass it, too. The hook is the host's own, so no settings file can take it away.
"""

from everyagent.agents.claude import modes
from everyagent.agents.claude.answers import ALLOWED, denied
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.policies import UNRESTRICTED, AgentTool, ToolPolicies, Verdict, refusal

#: The server under which the session's custom tools are offered: their policies are the daemon's business.
CUSTOM_SERVER = "everyagent"
#: One that is not answered in time keeps the call from running.
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
#: The program lists this one under another name than the model calls it by.
_ALIASES = {"Task": "Agent"}

TOOLS = [
    *(AgentTool(name=name, kinds=[kind]) for name, kind in _KINDS.items()),
    *(AgentTool(name=name) for name in _OTHERS),
    *(AgentTool(name=name, by_name=True) for name in _QUESTIONS),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}


def verdict(policies: ToolPolicies, name: str) -> Verdict:
    """On a tool by the name the program has for it."""
    server, tool = server_and_tool(name)
    if server == CUSTOM_SERVER:
        return "auto"
    if server:
        return policies.server_verdict(server, tool)
    name = _ALIASES.get(name, name)
    return policies.verdict(_BY_NAME.get(name, AgentTool(name=name)))


def ruling(policies: ToolPolicies, name: str, mode: str) -> dict[str, object]:
    """What the hook answers. Nothing is changed in plan mode, so `allow` has no say there."""
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
    """The answer to a permission that was asked for although no human is to be asked."""
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
    """Shell commands written into skills and slash commands run without a hook, so they must not be free."""
    return {"disableSkillShellExecution": verdict(policies, "Bash") in ("ask", "deny")}


def _decision(decision: str, reason: str) -> dict[str, object]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
