"""Tool policies on Amp: every call is handed to the delegate, and what is ruled of it is found here. Pure."""

from everyagent.agents.amp.permissions import EDITORS, READERS
from everyagent.agents.amp.results import SHELLS
from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.policies import AgentTool, ToolPolicies, Verdict

_KINDS = {
    **{name: ["bash"] for name in sorted(SHELLS)},
    **{name: ["edit"] for name in sorted(EDITORS)},
    "create_file": ["write"],
    "apply_patch": ["write", "edit"],
    "Read": ["read"],
    "glob": ["glob"],
    "Glob": ["glob"],
    "Grep": ["grep"],
    "read_web_page": ["web_fetch"],
    "web_search": ["web_search"],
}
_OTHERS = (
    *("download_thread_changes", "download_thread_file", "load_plugin", "read_mcp_resource", "reload_mcp"),
    *("reload_plugins", "reload_skills", "shell_command_kill", "upload_thread_file", "Task"),
    *(name for name in READERS if name not in _KINDS),
)
TOOLS = [
    *(AgentTool(name=name, kinds=kinds) for name, kinds in _KINDS.items()),
    *(AgentTool(name=name) for name in _OTHERS),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}


def verdict(policies: ToolPolicies, name: str) -> Verdict:
    """Custom tools never come here: Amp's settings let them pass, and the daemon sees to their policies."""
    server, tool = server_and_tool(name)
    if server:
        return policies.server_verdict(server, tool)
    return policies.verdict(_BY_NAME.get(name, AgentTool(name=name)))
